//! Reads traces and says what became of them: times the readers alone.

use std::path::PathBuf;

fn main() {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let began = std::time::Instant::now();
    for path in &paths {
        match goodput_trace::read::read_file(path, &Default::default()) {
            Ok(traces) => {
                let reading = &traces.reading;
                println!(
                    "{}: {} bytes, {} events, {} ignored, {} device events, {} lost, truncated {}, {:.3} s",
                    path.display(),
                    reading.bytes,
                    reading.events,
                    reading.ignored,
                    reading.device_events,
                    reading.lost_device_events,
                    reading.truncated,
                    began.elapsed().as_secs_f64(),
                );
                for finding in &reading.findings {
                    println!("    {finding}");
                }
                for rank in &traces.ranks {
                    println!(
                        "    rank {:?} {:?} {:?}: window {:?} ns, {} streams, {} launches ({} linked), {} operators ({} linked), {} ranges, {} notes, {} waits, {} samples, {} collectives, {} devices, {} threads",
                        rank.identity.rank,
                        rank.identity.evidence,
                        rank.epoch,
                        rank.device_window().map(|(start, end)| end - start),
                        rank.streams.len(),
                        rank.launches.len(),
                        rank.work.iter().filter(|work| work.launch.is_some()).count(),
                        rank.operators.len(),
                        rank.work.iter().filter(|work| work.operator.is_some()).count(),
                        rank.ranges.len(),
                        rank.annotations.len(),
                        rank.waits.len(),
                        rank.memory.len(),
                        rank.collectives.len(),
                        rank.devices.len(),
                        rank.threads.len(),
                    );
                }
            }
            Err(error) => println!("{error}"),
        }
    }
}
