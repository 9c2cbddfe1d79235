//! Kernel engine: lowers a Plan to steps, makes them true on Linux, runs flows, undoes everything.
