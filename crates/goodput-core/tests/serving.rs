//! Rules of the serving account, and the reference's serving figures.
#![allow(clippy::unwrap_used)]

use goodput_core::records::{SourceRef, Symbol};
use goodput_core::serving::{
    Deployment, Floor, HeldUse, Replica, ReplicaEvent, ReplicaEventKind as Kind, RowIdeal, ServingAccount,
    ServingPoolSample, ServingRecords, WorkPhase, WorkSample, account, decode,
};
use goodput_core::{CapacityTime, Pattern, Timestamp};

const S: i64 = 1_000_000_000;
const HOUR: i64 = 3600;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

/// A fleet of replicas on eight devices of 3.35 TB/s with 140 GB of weights.
#[derive(Default)]
struct Fleet(ServingRecords);

impl Fleet {
    fn events(mut self, events: &[(i64, Kind)]) -> Self {
        if self.0.deployments.is_empty() {
            self.0.deployments.push(Deployment::default());
        }
        let replica = u32::try_from(self.0.replicas.len()).unwrap();
        let name = self.0.symbols.intern(&format!("r{replica}"));
        self.0.replicas.push(Replica { name, deployment: 0 });
        for &(seconds, kind) in events {
            self.0.events.push(ReplicaEvent {
                replica,
                at: at(seconds),
                kind,
                pool: Symbol::EMPTY,
                device: Symbol::EMPTY,
                source: SourceRef::default(),
            });
        }
        self
    }

    fn decode(mut self, from: i64, to: i64, steps: u64, kv_tokens: Option<u64>) -> Self {
        let replica = u32::try_from(self.0.replicas.len()).unwrap() - 1;
        self.0.samples.push(WorkSample {
            replica,
            phase: WorkPhase::Decode,
            from: at(from),
            to: at(to),
            busy_ns: (to - from) * S,
            steps,
            tokens: steps,
            kv_tokens,
            dispatch_ns: None,
            exchange_ns: None,
            traffic_bytes: None,
            flops: None,
            requests: None,
            source: SourceRef::default(),
        });
        self
    }

    fn account(&self) -> ServingAccount {
        account(&mut self.0.clone(), (None, None), |_, _| RowIdeal {
            bytes_per_second: Some(3_350_000_000_000),
            flops_per_second: Some(989_400_000_000_000),
            weight_bytes: Some(140_000_000_000),
            kv_bytes_per_token: Some(327_680),
        })
        .unwrap()
    }
}

fn hours(devices: u64, seconds: i64) -> CapacityTime {
    CapacityTime::of(devices, seconds * S)
}

const PLACED: Kind = Kind::Placed { devices: 8 };

/// Ready 100 h, decoding 60 h at MBU 0.5: P 0.30, and the idle 40 h are headroom.
#[test]
fn program_goodput_is_over_ready_time() {
    // 60 h at MBU 0.5 are 30 h of weight reads: 8 x 3.35e12 x 108000 / 140e9 steps, a whole number of them at 3.5 TB/s.
    let fleet = Fleet::default().events(&[(0, PLACED), (0, Kind::Ready), (100 * HOUR, Kind::Released)]);
    let fleet = fleet.decode(0, 60 * HOUR, 21_600_000, None);
    let ideal = RowIdeal {
        bytes_per_second: Some(3_500_000_000_000),
        weight_bytes: Some(140_000_000_000),
        ..RowIdeal::default()
    };
    let account = account(&mut fleet.0.clone(), (None, None), |_, _| ideal).unwrap();
    let row = &account.rows[0];
    let decode = row.decode_row(Floor::Weights).unwrap();
    assert_eq!(decode.ideal, hours(8, 30 * HOUR));
    assert_eq!(decode.program_goodput(), Some(0.30));
    assert_eq!(decode.runtime_goodput(), Some(1.0));
    assert_eq!(row.headroom(), hours(8, 40 * HOUR));
    assert_eq!(row.decode_row(Floor::WeightsAndKv), None, "no sample says how much cache it read");
    assert_eq!(row.prefill_row(), None);
}

/// Worked example E10: 5.7 minutes of readiness on a life of a day and of an hour; E9: a build of 15 minutes on an hour.
#[test]
fn readiness_by_lifetime() {
    for (life, goodput) in [(24 * HOUR, 0.996_04), (HOUR, 0.905)] {
        let fleet = Fleet::default().events(&[(0, PLACED), (342, Kind::Ready), (life, Kind::Released)]);
        let account = fleet.account();
        let row = &account.rows[0];
        let cold = row.used(HeldUse::ColdStart).share_of(row.held()).unwrap();
        assert!((cold - 342.0 / life as f64).abs() < 1e-12);
        let ready = row.ready().share_of(row.held()).unwrap();
        assert!((ready - goodput).abs() < 5e-6, "{ready}");
        let range = usize::from(life > HOUR) * 2;
        assert_eq!(account.lifetimes[range].lives, 1);
        assert_eq!(account.lifetimes[range].cold_start, hours(8, 342));
    }
    let build = Fleet::default().events(&[
        (0, PLACED),
        (0, Kind::WeightsLoaded),
        (900, Kind::Compiled),
        (900, Kind::Ready),
        (HOUR, Kind::Released),
    ]);
    let account = build.account();
    let row = &account.rows[0];
    assert_eq!(row.used(HeldUse::Compilation).share_of(row.held()), Some(0.25));
}

/// Worked examples E10, E12: the floor of a decode step, its exchanges, and eager dispatch beside it.
#[test]
fn the_decode_step() {
    let floor = decode::floor_ns(140e9, 8, 3.35e12).unwrap();
    assert!((floor / 1e6 - 5.2239).abs() < 1e-4);
    // At the floor the arithmetic runs at 0.00339 of its peak; twice the peak halves that and leaves the floor.
    let mfu = |peak: f64| 140e9 / (8.0 * peak * floor / 1e9);
    assert!((mfu(989e12) - 0.00339).abs() < 5e-6);
    assert!((mfu(2.0 * 989e12) - mfu(989e12) / 2.0).abs() < 1e-12);
    let message = decode::exchange_bytes(8192, 1, 2);
    assert_eq!((message, decode::EXCHANGES_PER_LAYER * message), (16_384, 32_768));
    // The prefill of 2217 tokens, 36.3 MB and four exchanges a layer: twice the forward pass.
    let message = decode::exchange_bytes(8192, 2217, 2);
    let wire = 2.0 * decode::exchange_wire_ns(80, message, 8, 450e9).unwrap();
    assert!((wire / 1e6 - 45.2).abs() < 0.05, "{wire}");
    assert_eq!(decode::eager_dispatch_ns(80), (12e6, 24e6));
}

#[test]
fn each_stretch_is_charged_once_to_what_the_log_says() {
    let account = Fleet::default()
        .events(&[
            (0, PLACED),
            (100, Kind::WeightsLoaded),
            (160, Kind::Compiled),
            (180, Kind::Warm),
            (181, Kind::Ready),
            (1000, Kind::Failed),
            (1010, Kind::Restarting),
            (1100, Kind::WeightsLoaded),
            (1200, Kind::Ready),
            (2000, Kind::Draining),
            (2030, Kind::Released),
        ])
        .account();
    let row = &account.rows[0];
    let seconds = |used| row.used(used).device_ns() / (8 * i128::from(S));
    let expected = [
        (HeldUse::Ready, 819 + 800),
        (HeldUse::WeightLoad, 100),
        (HeldUse::Compilation, 60),
        (HeldUse::WarmUp, 21),
        (HeldUse::ColdStart, 0),
        (HeldUse::Restart, 200),
        (HeldUse::Drain, 30),
        (HeldUse::Unsettled, 0),
    ];
    for (used, right) in expected {
        assert_eq!(seconds(used), right, "{used:?}");
    }
    assert_eq!(row.held(), hours(8, 2030));
    assert!(account.warnings.is_empty(), "{:?}", account.warnings);
}

#[test]
fn what_the_log_lacks_is_said_and_never_guessed() {
    let codes = |account: &ServingAccount| account.warnings.iter().map(|w| w.code).collect::<Vec<_>>();
    // Warm and never ready, without work.
    let unsettled = Fleet::default().events(&[(0, PLACED), (10, Kind::Warm), (50, Kind::Released)]).account();
    assert_eq!(unsettled.rows[0].used(HeldUse::Unsettled), hours(8, 40));
    // Work shows that it was ready.
    let worked = Fleet::default()
        .events(&[(0, PLACED), (10, Kind::Warm), (50, Kind::Released)])
        .decode(20, 30, 100, None)
        .account();
    assert_eq!(worked.rows[0].ready(), hours(8, 30));
    assert_eq!(codes(&worked), ["ready_from_work"]);
    // Released before it was placed.
    let early = Fleet::default()
        .events(&[(0, Kind::Released), (10, PLACED), (20, Kind::Ready), (30, Kind::Released)])
        .account();
    assert_eq!(codes(&early), ["before_placed"]);
    assert_eq!(early.rows[0].held(), hours(8, 20));
    // Placed again without a release.
    let twice = Fleet::default()
        .events(&[(0, PLACED), (10, Kind::Ready), (100, PLACED), (110, Kind::Ready), (120, Kind::Released)])
        .account();
    assert_eq!(codes(&twice), ["placed_twice"]);
    assert_eq!(twice.rows[0].used(HeldUse::Unsettled), hours(8, 90));
    // The same event twice.
    let same = Fleet::default()
        .events(&[(0, PLACED), (0, PLACED), (10, Kind::Ready), (20, Kind::Released)])
        .account();
    assert_eq!(codes(&same), ["duplicate_event"]);
    // Still running at the end of the records.
    let open =
        Fleet::default().events(&[(0, PLACED), (10, Kind::Ready)]).decode(10, 100, 1000, None).account();
    assert_eq!(open.rows[0].ready(), hours(8, 90));
    assert_eq!(open.rows[0].not_released, 1);
}

#[test]
fn work_faster_than_its_hardware_is_refused() {
    let fleet = Fleet::default()
        .events(&[(0, PLACED), (0, Kind::Ready), (20, Kind::Released)])
        .decode(0, 10, 1914, Some(0))
        .decode(10, 20, 1915, Some(0));
    let account = fleet.account();
    let row = &account.rows[0];
    assert_eq!((row.decode.samples, row.decode.refused_samples), (1, 1));
    assert_eq!(account.warnings[0].code, "mbu_above_one");
    assert_eq!(row.work_unknown(), hours(8, 10));
    // The weights alone would fit; with the cache that the batch reads they do not.
    let with_cache = Fleet::default()
        .events(&[(0, PLACED), (0, Kind::Ready), (20, Kind::Released)])
        .decode(0, 10, 1900, Some(1_000_000))
        .account();
    assert_eq!(with_cache.rows[0].decode.refused_samples, 1);
}

#[test]
fn overlapping_samples_and_work_outside_ready_time_do_not_count_twice() {
    let account = Fleet::default()
        .events(&[(0, PLACED), (10, Kind::Ready), (100, Kind::Released)])
        .decode(0, 20, 200, None)
        .decode(15, 25, 100, None)
        .account();
    let row = &account.rows[0];
    assert_eq!(row.decode.busy, hours(8, 15));
    assert_eq!(row.headroom(), hours(8, 75));
    let mut codes: Vec<_> = account.warnings.iter().map(|w| w.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["overlapping_samples", "work_outside_ready"]);
}

#[test]
fn free_devices_are_charged_once() {
    let mut fleet = Fleet::default().events(&[(0, PLACED), (0, Kind::Ready), (100, Kind::Released)]);
    let sample = |seconds, free, placeable, waiting| ServingPoolSample {
        pool: Symbol::EMPTY,
        at: at(seconds),
        free_devices: free,
        replica_devices: 8,
        placeable_replicas: placeable,
        waiting_replicas: waiting,
        source: SourceRef::default(),
    };
    // 24 scattered devices and one whole node; two replicas wait from 50 s on.
    fleet.0.pools = vec![sample(0, 32, 1, 0), sample(50, 32, 1, 2)];
    let account = fleet.account();
    let pool = &account.pools[0];
    let losses = pool.losses();
    assert_eq!(losses[0], (Pattern::NoDemand, hours(32, 50) + hours(16, 50)));
    assert_eq!(losses[1], (Pattern::ReplicaPlacementWait, hours(8, 50)));
    assert_eq!(losses[2], (Pattern::IncompleteReplica, hours(8, 50)));
    assert_eq!(pool.scattered, hours(24, 100));
    assert_eq!(pool.scheduling_goodput(), Some(8.0 / 40.0));
}
