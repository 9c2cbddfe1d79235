//! Shares of bytes and flows on each route, for the text at the run's end and for `summary.json`.

use serde_json::{Value, json};

use crate::{
    document::{Block, Cell, Column, Medium, Table},
    run::Run,
    text::{self, WIDTH},
};

/// Shares of each policy's bytes and flows that each route carried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathShares {
    /// Routes of the flows, in order of increasing delay.
    routes: Vec<String>,
    /// Labels of the policies, each with its shares of bytes and flows on every route.
    policies: Vec<(String, Vec<(f64, f64)>)>,
    /// True if some flows were re-routed and are counted on several routes.
    has_rerouted: bool,
}

/// Returns each policy's shares of bytes and flows on the routes of `run`.
pub fn of(run: &Run) -> PathShares {
    let flows = &run.flows;
    let mut routes: Vec<String> = Vec::new();
    for policy in 0..flows.policies.len() {
        let names = flows.routes(policy).iter().map(|share| &share.route);
        routes.extend(names.cloned());
    }
    routes.sort_by_cached_key(|route| {
        let delay = run.routes.delay(&run.routes.named(route));
        (delay.is_none(), delay, route.clone())
    });
    routes.dedup();
    let shares = |policy: usize| {
        let of = flows.routes(policy);
        let all: u64 = of.iter().map(|share| share.bytes).sum();
        let count = flows.with_route(policy);
        let share = |route: &String| {
            let found = of.iter().find(|share| share.route == *route);
            found.map_or((0.0, 0.0), |share| {
                let part = |part: u64, all: u64| text::to_float(part) / text::to_float(all.max(1));
                (part(share.bytes, all), part(share.flows, count))
            })
        };
        routes.iter().map(share).collect()
    };
    let policies = flows
        .policies
        .iter()
        .cloned()
        .enumerate()
        .map(|(index, policy)| (policy, shares(index)));
    PathShares {
        policies: policies.collect(),
        routes,
        has_rerouted: flows.has_rerouted(),
    }
}

impl PathShares {
    /// Returns the shares for a terminal: percent of bytes and, in brackets, of flows. The shares are a table if it
    /// fits, or else a line per policy with its largest shares. Empty if there are fewer than two routes.
    pub fn blocks<'a>(&self) -> Vec<Block<'a>> {
        if self.routes.len() < 2 {
            return Vec::new();
        }
        let mut blocks = self.table().unwrap_or_else(|| self.largest());
        if self.has_rerouted {
            let note = "A flow that was re-routed is counted on each path that it took, with the bytes sent on that path.";
            blocks.push(Block::Note(Medium::Terminal, note.to_owned()));
        }
        blocks
    }

    /// Returns each policy's shares of bytes and flows, from 0 to 1, on each route that it used.
    pub fn values(&self) -> Value {
        let policy = |(policy, shares): &(String, Vec<(f64, f64)>)| {
            let taken = self.routes.iter().zip(shares);
            let share = |(route, (bytes, flows)): (&String, &(f64, f64))| {
                (*flows > 0.0).then(|| json!({ "route": route, "bytes": bytes, "flows": flows }))
            };
            json!({ "policy": policy, "routes": taken.filter_map(share).collect::<Vec<_>>() })
        };
        self.policies.iter().map(policy).collect()
    }

    fn table<'a>(&self) -> Option<Vec<Block<'a>>> {
        if self.routes.len() > MAX_COLUMNS {
            return None;
        }
        let (ends, names) = self.short_names();
        let head = match ends {
            Some(ends) => format!("% of bytes (flows), {ends}"),
            None => "% of bytes (flows)".to_owned(),
        };
        let row = |(policy, shares): &(String, Vec<(f64, f64)>)| {
            let shares = shares.iter().map(|share| cell(*share).into());
            let cells = [Cell::from(&**policy)].into_iter().chain(shares);
            cells.collect::<Vec<_>>()
        };
        let names = names.into_iter().map(Column::numbers);
        let columns = [Column::names("path")].into_iter().chain(names);
        let table = Table::new(columns).with(self.policies.iter().map(row));
        let is_narrow = |line: &str| line.chars().count() <= WIDTH;
        table.terminal(WIDTH).lines().all(is_narrow).then(|| {
            vec![
                Block::Heading(Medium::Terminal, head),
                Block::Table(Medium::Terminal, table),
            ]
        })
    }

    fn largest<'a>(&self) -> Vec<Block<'a>> {
        let fact = |(policy, shares): &(String, Vec<(f64, f64)>)| {
            let mut taken: Vec<(&String, (f64, f64))> =
                self.routes.iter().zip(shares.iter().copied()).collect();
            taken.retain(|(_, (_, flows))| *flows > 0.0);
            taken.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
            let more = taken.len().saturating_sub(MAX_COLUMNS);
            taken.truncate(MAX_COLUMNS);
            let mut words: Vec<String> = taken
                .iter()
                .map(|(route, share)| format!("{route} {}", cell(*share)))
                .collect();
            if more > 0 {
                words.push(format!("{} with less", text::count(more, "more path")));
            }
            (policy.clone(), vec![words.join(", ")])
        };
        let head = "paths, % of bytes (flows)".to_owned();
        vec![
            Block::Heading(Medium::Terminal, head),
            Block::Facts(Medium::Terminal, self.policies.iter().map(fact).collect()),
        ]
    }

    /// Returns the first and last datacenter that all routes share, as in `dc1 to dc8`, and the routes without them; if
    /// routes differ in these datacenters, `None` and the whole routes.
    fn short_names(&self) -> (Option<String>, Vec<String>) {
        let split = |route: &String| {
            let (first, rest) = route.split_once('-')?;
            let (middle, last) = rest.rsplit_once('-')?;
            Some((format!("{first} to {last}"), middle.to_owned()))
        };
        let all: Option<Vec<(String, String)>> = self.routes.iter().map(split).collect();
        match all {
            Some(all) if all.iter().all(|(ends, _)| *ends == all[0].0) => {
                let ends = all.first().map(|(ends, _)| ends.clone());
                (ends, all.into_iter().map(|(_, middle)| middle).collect())
            }
            _ => (None, self.routes.clone()),
        }
    }
}

/// Formats the shares of bytes and flows in percent, such as `41 (17)`; a dash for a route without flows.
fn cell((bytes, flows): (f64, f64)) -> String {
    if flows == 0.0 {
        return "-".to_owned();
    }
    let percent = |share: f64| match share * 100.0 {
        percent if percent > 0.0 && percent < 0.5 => "<1".to_owned(),
        percent => format!("{percent:.0}"),
    };
    format!("{} ({})", percent(bytes), percent(flows))
}

/// Maximum number of routes in a table, or in the line of a policy.
const MAX_COLUMNS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::text_of;

    fn shares(routes: &[&str], has_rerouted: bool, of: &[(&str, &[(f64, f64)])]) -> String {
        let policy =
            |(label, shares): &(&str, &[(f64, f64)])| ((*label).to_owned(), shares.to_vec());
        let shares = PathShares {
            routes: routes.iter().map(ToString::to_string).collect(),
            policies: of.iter().map(policy).collect(),
            has_rerouted,
        };
        text_of(&shares.blocks(), WIDTH)
    }

    #[test]
    fn paths_between_two_datacenters_are_a_table_by_what_is_between() {
        let found = shares(
            &["dc1-dc6-dc8", "dc1-dc4-dc8", "dc1-dc2-dc8"],
            true,
            &[
                ("ecmp", &[(0.164, 0.333), (0.5, 0.333), (0.336, 0.334)]),
                ("ucmp", &[(0.3, 1.0), (0.698, 0.02), (0.002, 0.001)]),
                ("lcmp", &[(1.0, 1.0), (0.0, 0.0), (0.0, 0.0)]),
            ],
        );
        insta::assert_snapshot!(found, @r"

        % of bytes (flows), dc1 to dc8
        path        dc6      dc4      dc2
        ecmp    16 (33)  50 (33)  34 (33)
        ucmp   30 (100)   70 (2)  <1 (<1)
        lcmp  100 (100)        -        -
        A flow that was re-routed is counted on each path that it took, with the bytes
        sent on that path.
        ");
    }

    #[test]
    fn many_paths_are_the_largest_of_each_policy() {
        let texts: Vec<String> = (2..10).map(|dc| format!("dc1-dc{dc}")).collect();
        let names: Vec<&str> = texts.iter().map(String::as_str).collect();
        let even = [(0.125, 0.125); 8];
        insta::assert_snapshot!(shares(&names, false, &[("ecmp", &even)]), @r"

        paths, % of bytes (flows)
        ecmp: dc1-dc2 12 (12), dc1-dc3 12 (12), dc1-dc4 12 (12), dc1-dc5 12 (12),
              dc1-dc6 12 (12), dc1-dc7 12 (12), 2 more paths with less
        ");
        assert_eq!(shares(&names[..1], false, &[("ecmp", &even[..1])]), "");
    }

    /// The route via dc2 carried two of three flows and 1.5 of 2 MB; the route via dc3 carried no flow.
    #[test]
    fn values_are_shares_of_the_routes_with_flows() {
        let policies = vec![(
            "ecmp".to_owned(),
            vec![(0.75, 2.0 / 3.0), (0.25, 1.0 / 3.0), (0.0, 0.0)],
        )];
        let shares = PathShares {
            routes: ["dc1-dc2-dc4", "dc1-dc4", "dc1-dc3-dc4"]
                .map(str::to_owned)
                .into(),
            policies,
            has_rerouted: false,
        };
        let route = |name: &str, bytes: f64, flows: f64| json!({ "route": name, "bytes": bytes, "flows": flows });
        let routes = [
            route("dc1-dc2-dc4", 0.75, 2.0 / 3.0),
            route("dc1-dc4", 0.25, 1.0 / 3.0),
        ];
        assert_eq!(
            shares.values(),
            json!([{ "policy": "ecmp", "routes": routes }])
        );
    }
}
