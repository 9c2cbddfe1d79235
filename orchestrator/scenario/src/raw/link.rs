//! Mappings that set parameters of links, as written.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::LazyLock};

use lab_parameters::{EcnConfig, LinkConfig, Parameter, ParameterSet};
use lab_units::Nanos;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor,
        value::MapAccessDeserializer,
    },
};

use super::parameters::{Key, Parameters, Texts, parameter_schema, require};
use crate::{
    defaults,
    yaml::{At, Maybe, Scalar, Text, WordOr, scalar::words},
};

/// Mapping that sets link parameters, those that its place in the scenario allows, and has keys of its own.
#[derive(Clone, Debug)]
pub struct WithLink<P> {
    /// The mapping's own keys.
    pub own: P,
    /// Texts of the parameters.
    pub texts: Texts,
}

/// Own keys of a mapping that sets link parameters.
pub trait Place: DeserializeOwned + JsonSchema {
    /// Own keys that messages list before and after the parameters.
    const OWN: [&'static [&'static str]; 2];

    /// Keys of the mapping.
    fn keys() -> &'static [&'static str];

    /// True if the mapping may set `parameter`.
    fn allows(_parameter: &Parameter) -> bool {
        true
    }

    /// True if the mapping must set `parameter`.
    fn requires(_parameter: &Parameter) -> bool {
        false
    }

    /// Returns the meaning and default of `parameter`.
    fn describe(parameter: &Parameter) -> String;

    /// Parameters that the mapping may set.
    fn parameters() -> impl Iterator<Item = &'static Parameter> {
        let parameters = LinkConfig::PARAMETERS.iter();
        parameters.filter(|parameter| Self::allows(parameter))
    }

    /// Parameters that the mapping must set.
    fn required() -> impl Iterator<Item = &'static Parameter> {
        Self::parameters().filter(|parameter| Self::requires(parameter))
    }
}

/// Returns the keys of a mapping in the order in which messages list them.
fn keys<P: Place>() -> Vec<&'static str> {
    let [before, after] = P::OWN.map(|keys| keys.iter().copied());
    let names = P::parameters().map(|parameter| parameter.name);
    before.chain(names).chain(after).collect()
}

/// ECN marking: its parameters, or `none` to override a default that marks.
pub type Marking = Maybe<At<WordOr<NoEcn, Parameters<EcnConfig>>>>;

/// Properties of a link inside a datacenter, equal in both directions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostWire {
    /// ECN marking at the egress queues. Default: `none`.
    #[serde(default)]
    pub ecn: Marking,
}

impl Place for HostWire {
    const OWN: [&'static [&'static str]; 2] = [&[], &["ecn"]];

    fn keys() -> &'static [&'static str] {
        static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(keys::<HostWire>);
        &KEYS
    }

    /// Leaves out a default that is not the same in all tiers.
    fn describe(parameter: &Parameter) -> String {
        let tiers = [defaults::LEAF_SPINE, defaults::SPINE_DCI];
        let default = defaults::HOST_LINK.get(parameter.name);
        let is_equal = tiers.iter().all(|tier| tier.get(parameter.name) == default);
        let default = default.filter(|_| is_equal).map(|it| format!("`{it}`"));
        with_default(parameter, default)
    }
}

/// Defaults of links between datacenters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterDcWire {
    /// ECN marking at the egress queues. Default: `none`.
    #[serde(default)]
    pub ecn: Marking,
}

impl Place for InterDcWire {
    const OWN: [&'static [&'static str]; 2] = [&[], &["ecn"]];

    fn keys() -> &'static [&'static str] {
        static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(keys::<InterDcWire>);
        &KEYS
    }

    fn allows(parameter: &Parameter) -> bool {
        !parameter.is_required
    }

    fn describe(parameter: &Parameter) -> String {
        let default = defaults::INTER_DC.get(parameter.name);
        with_default(parameter, default.map(|it| format!("`{it}`")))
    }
}

/// A link between the DCI switches of two datacenters, equal in both directions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Names of the two datacenters.
    #[schemars(length(min = 2, max = 2))]
    pub between: At<Vec<Text<String>>>,
    /// ECN marking at the egress queues. Default: `topology.defaults.inter_dc`.
    #[serde(default)]
    pub ecn: Marking,
}

impl Place for Link {
    const OWN: [&'static [&'static str]; 2] = [&["between"], &["ecn"]];

    fn keys() -> &'static [&'static str] {
        static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(keys::<Link>);
        &KEYS
    }

    fn requires(parameter: &Parameter) -> bool {
        parameter.is_required
    }

    fn describe(parameter: &Parameter) -> String {
        let default = "`topology.defaults.inter_dc`".to_owned();
        with_default(parameter, (!parameter.is_required).then_some(default))
    }
}

/// A change to a link: time, link, and one of the other keys.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 3, "maxProperties" = 3))]
pub struct Fault {
    /// Time from the earliest possible flow start.
    pub at: Text<Nanos>,
    /// Names of the link's two datacenters.
    #[schemars(length(min = 2, max = 2))]
    pub link: At<Vec<Text<String>>>,
    /// Link cut.
    #[serde(default)]
    #[schemars(extend("const" = true))]
    pub down: Maybe<Text<bool>>,
    /// Link restored.
    #[serde(default)]
    #[schemars(extend("const" = true))]
    pub up: Maybe<Text<bool>>,
}

impl Place for Fault {
    const OWN: [&'static [&'static str]; 2] = [&["at", "link", "down", "up"], &[]];

    fn keys() -> &'static [&'static str] {
        static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(keys::<Fault>);
        &KEYS
    }

    fn allows(parameter: &Parameter) -> bool {
        parameter.is_changeable
    }

    fn describe(parameter: &Parameter) -> String {
        let meaning = parameter.doc.trim().trim_end_matches('.');
        format!("{meaning}, from `at` on.")
    }
}

fn with_default(parameter: &Parameter, default: Option<String>) -> String {
    let default = default.map(|it| format!(" Default: {it}."));
    format!("{}{}", parameter.doc.trim(), default.unwrap_or_default())
}

/// The word `none`: no ECN marking, even if the default marks.
#[derive(Clone, Copy, Debug)]
pub struct NoEcn;

words! {
    NoEcn: "`none`, or the keys `k_min`, `k_max` and `p_max`" { "none" => Self }
}

impl<'de, P: Place> Deserialize<'de> for WithLink<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("link", P::keys(), LinkVisitor(PhantomData))
    }
}

struct LinkVisitor<P>(PhantomData<P>);

impl<'de, P: Place> Visitor<'de> for LinkVisitor<P> {
    type Value = WithLink<P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("parameters of a link")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut texts = Texts::default();
        let own = P::deserialize(MapAccessDeserializer::new(OwnKeys::<P, A> {
            map,
            texts: &mut texts,
            place: PhantomData,
        }))?;
        texts.check(P::required())?;
        Ok(WithLink { own, texts })
    }
}

/// Map access that passes a mapping's own keys on and puts its link parameters into `texts`.
///
/// Serde's `flatten` would keep the values in memory and lose their locations.
struct OwnKeys<'a, P, A> {
    map: A,
    texts: &'a mut Texts,
    place: PhantomData<P>,
}

impl<'de, P: Place, A: MapAccess<'de>> MapAccess<'de> for OwnKeys<'_, P, A> {
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

impl<P: Place> JsonSchema for WithLink<P> {
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
