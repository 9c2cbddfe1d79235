//! Memory shared by the switch program and its agent, and the agent's messages.
