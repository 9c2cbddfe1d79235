//! Contexts of a chain of scenarios, one for each text.

use super::context::Context;
use crate::{
    error::ScenarioErrors,
    extends::{ScenarioChain, WrittenScenario},
    raw,
};

/// Chain of scenarios with a context for each of its texts.
pub(super) struct Contexts<'c, 'a> {
    chain: &'c ScenarioChain<'a>,
    /// A context for each text, in the order of the chain.
    contexts: Vec<Context<'a>>,
}

impl<'c, 'a> Contexts<'c, 'a> {
    /// Creates contexts without problems.
    pub fn new(chain: &'c ScenarioChain<'a>) -> Self {
        let contexts = chain.texts().iter().map(Context::of_scenario).collect();
        Self { chain, contexts }
    }

    /// Returns the first scenario of the chain and its context.
    pub fn first(&mut self) -> (&mut Context<'a>, &'c WrittenScenario<'a>) {
        (&mut self.contexts[0], self.chain.first())
    }

    /// Returns a key from the first scenario that has it, with the context of that scenario. If no scenario has the
    /// key, the context is that of the chain's first scenario.
    pub fn of<T>(
        &mut self,
        key: impl Fn(&'c raw::Scenario) -> Option<&'c T>,
    ) -> (&mut Context<'a>, Option<&'c T>) {
        match self.chain.find(key) {
            Some((at, value)) => (&mut self.contexts[at], Some(value)),
            None => (&mut self.contexts[0], None),
        }
    }

    /// Returns a key that every chain has, with the context of the first scenario that has it.
    pub fn required<T>(
        &mut self,
        key: impl Fn(&'c raw::Scenario) -> Option<&'c T>,
    ) -> (&mut Context<'a>, &'c T) {
        let (context, value) = self.of(key);
        (context, value.expect("a whole chain has the required keys"))
    }

    /// Returns `value` if no problem was found.
    ///
    /// # Errors
    /// With the problems of all texts, in the order of the chain.
    pub fn finish<T>(self, value: T) -> Result<T, ScenarioErrors> {
        let chain = self.chain;
        let contexts = self.contexts.into_iter().enumerate();
        let errors =
            contexts.filter_map(|(at, context)| Some(chain.noted(at, context.finish(()).err()?)));
        match ScenarioErrors::joined(errors) {
            Some(errors) => Err(errors),
            None => Ok(value),
        }
    }
}
