//! Staggered flows between two RDMA devices; prints one row each.
//!
//! `flows SRC_DEVICE DST_DEVICE COUNT [TOOL [GAP [FIRST_SIZE [STEP]]]]`, for example
//! `flows rxe_a rxe_b 24 ib_send_bw 50ms 20kB 20kB`. The devices and a path between them must exist.

use std::{env, error::Error, io::Write, str::FromStr};

use lab_perftest::{Endpoint, FlowJob, MonotonicTime, Options, Session, Status, Tool};
use lab_units::{Bytes, FlowId, Nanos};
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [src, dst, count, rest @ ..] = args.as_slice() else {
        return Err(
            "usage: flows SRC_DEVICE DST_DEVICE COUNT [TOOL [GAP [FIRST_SIZE [STEP]]]]".into(),
        );
    };
    let wanted = rest.first().map_or("ib_send_bw", String::as_str);
    let tool = Tool::ALL.into_iter().find(|tool| tool.name() == wanted);
    let tool = tool.ok_or("the tool is ib_send_bw, ib_write_bw or ib_read_bw")?;
    let gap: Nanos = argument(rest, 1, "50 ms")?;
    let first: Bytes = argument(rest, 2, "20 kB")?;
    let step: Bytes = argument(rest, 3, "20 kB")?;

    let jobs: Vec<FlowJob> = (0..count.parse()?)
        .map(|index: u32| {
            let total = first.get() + u64::from(index) * step.get();
            FlowJob {
                flow: FlowId(index),
                tool,
                src: endpoint("source", src),
                dst: endpoint("destination", dst),
                message_bytes: Bytes::new(total / 5),
                messages: 5,
                start: Nanos::new(gap.get() * u64::from(index)),
                // 2.1 s: more than twice a round trip of a second.
                qp_timeout: 19,
                path_mtu: 4096,
                traffic_class: 106,
                deadline: Nanos::from_millis(60_000),
            }
        })
        .collect();

    let (events, _ignored) = mpsc::unbounded_channel();
    let began = MonotonicTime::now();
    let options = Options {
        ready_within: None,
        ..Options::default()
    };
    let session = Session::prepare(jobs.clone(), &options, events).await?;
    let ready = MonotonicTime::now();
    let t0 = ready
        .after(Nanos::from_millis(100))
        .round_up_to(Nanos::from_millis(1_000));
    let rows = session.run(t0).await?;
    let ended = MonotonicTime::now();

    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "flow bytes client_qp server_qp lateness_ns marker_ns fct_ns resolution_ns status"
    )?;
    for (job, row) in jobs.iter().zip(&rows) {
        let qp =
            |address: Option<lab_perftest::QpAddress>| address.map_or(0, |address| address.qp.0);
        let (fct, resolution) = match &row.status {
            Status::Finished(fct) => (fct.time.get(), fct.resolution.get()),
            _ => (0, 0),
        };
        writeln!(
            out,
            "{} {} {:#x} {:#x} {} {} {fct} {resolution} {}",
            row.flow,
            job.total_bytes().get(),
            qp(row.client_qp),
            qp(row.server_qp),
            row.start.map_or(0, |start| start.lateness.get()),
            row.marker.map_or(0, |marker| marker.after.get()),
            row.status,
        )?;
    }
    writeln!(
        out,
        "prepared in {}, run in {}",
        ready.since(began),
        ended.since(t0)
    )?;
    Ok(())
}

fn endpoint(host: &str, device: &str) -> Endpoint {
    Endpoint {
        host: host.to_owned(),
        rdma_device: device.to_owned(),
        gid_index: 1,
        netns: None,
    }
}

fn argument<T>(rest: &[String], index: usize, default: &str) -> Result<T, T::Err>
where
    T: FromStr,
{
    rest.get(index).map_or(default, String::as_str).parse()
}
