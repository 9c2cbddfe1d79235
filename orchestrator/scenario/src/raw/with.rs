//! Mappings of a scenario that contain keys of their own and keys that set parameters.

use std::{borrow::Cow, fmt, marker::PhantomData};

use lab_parameters::{Parameter, ParameterSet};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor,
        value::MapAccessDeserializer,
    },
};

use super::parameters::{Key, Texts, parameter_schema, require};

/// Mapping with keys of its own, and with the parameters that [`SetsParameters::allows`] permits.
#[derive(Clone, Debug)]
pub struct With<P> {
    /// Values of the mapping's own keys.
    pub own: P,
    /// Unparsed values of the parameters that the mapping sets.
    pub texts: Texts,
}

/// Own keys of a mapping that also sets parameters.
pub trait SetsParameters: DeserializeOwned + JsonSchema {
    /// Parameter set to which the mapping's parameters belong.
    type Set: ParameterSet;

    /// Own keys of the mapping: those that messages list before the parameters, and those that messages list after the
    /// parameters.
    const OWN: [&'static [&'static str]; 2];

    /// Returns the mapping's own keys; the macro `keys` implements this method.
    fn keys() -> &'static [&'static str];

    /// Returns true if the mapping may set `parameter`.
    fn allows(_parameter: &Parameter) -> bool {
        true
    }

    /// Returns true if the mapping must set `parameter`.
    fn requires(_parameter: &Parameter) -> bool {
        false
    }

    /// Returns the description of `parameter` with its default in this mapping.
    fn describe(parameter: &Parameter) -> String;

    /// Returns the parameters that the mapping may set.
    fn parameters() -> impl Iterator<Item = &'static Parameter> {
        let parameters = Self::Set::PARAMETERS.iter();
        parameters.filter(|parameter| Self::allows(parameter))
    }

    /// Returns the parameters that the mapping must set.
    fn required() -> impl Iterator<Item = &'static Parameter> {
        Self::parameters().filter(|parameter| Self::requires(parameter))
    }
}

/// Implements [`SetsParameters::keys`] with the fields of the struct.
macro_rules! keys {
    ($own:ty) => {
        fn keys() -> &'static [&'static str] {
            static KEYS: std::sync::LazyLock<Vec<&'static str>> =
                std::sync::LazyLock::new($crate::raw::with::in_order::<$own>);
            &KEYS
        }
    };
}
pub(super) use keys;

/// Returns all keys of the mapping in the order in which messages list them.
pub fn in_order<P: SetsParameters>() -> Vec<&'static str> {
    let [before, after] = P::OWN.map(|keys| keys.iter().copied());
    let names = P::parameters().map(|parameter| parameter.name);
    before.chain(names).chain(after).collect()
}

/// Returns the description of `parameter`, followed by its default if `default` is given.
pub(super) fn with_default(parameter: &Parameter, default: Option<String>) -> String {
    let default = default.map(|it| format!(" Default: {it}."));
    format!("{}{}", parameter.doc.trim(), default.unwrap_or_default())
}

impl<'de, P: SetsParameters> Deserialize<'de> for With<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(P::Set::TITLE, P::keys(), WithVisitor(PhantomData))
    }
}

struct WithVisitor<P>(PhantomData<P>);

impl<'de, P: SetsParameters> Visitor<'de> for WithVisitor<P> {
    type Value = With<P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keys and parameters of {}", P::Set::TITLE)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut texts = Texts::default();
        let own = P::deserialize(MapAccessDeserializer::new(OwnKeys::<P, A> {
            map,
            texts: &mut texts,
            own: PhantomData,
        }))?;
        texts.check(P::required())?;
        Ok(With { own, texts })
    }
}

/// Map access that hands a mapping's own keys to serde and collects the parameters in the same pass.
///
/// Serde's `flatten` would buffer the values and lose their locations.
struct OwnKeys<'a, P, A> {
    map: A,
    texts: &'a mut Texts,
    own: PhantomData<P>,
}

impl<'de, P: SetsParameters, A: MapAccess<'de>> MapAccess<'de> for OwnKeys<'_, P, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        while let Some(key) = self.map.next_key_seed(Key(P::keys()))? {
            match P::parameters().find(|parameter| parameter.name == key) {
                Some(parameter) => self.texts.0.push((parameter, self.map.next_value()?)),
                None => return seed.deserialize(key.into_deserializer()).map(Some),
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        self.map.next_value_seed(seed)
    }
}

impl<P: SetsParameters> JsonSchema for With<P> {
    fn schema_name() -> Cow<'static, str> {
        P::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = P::json_schema(generator);
        for parameter in P::parameters() {
            let of_parameter = parameter_schema(parameter, P::describe(parameter));
            let properties = schema.ensure_object().entry("properties");
            if let serde_json::Value::Object(properties) =
                properties.or_insert_with(|| json_schema!({}).to_value())
            {
                properties.insert(parameter.name.to_owned(), of_parameter.to_value());
            }
        }
        require(&mut schema, P::required());
        schema
    }
}
