//! `goodput mfu` end to end.
#![allow(clippy::unwrap_used)]

mod command;

use command::{Output, json, run, shared};
use jsonschema::Validator;
use serde_json::Value;

fn schema(text: &str) -> Validator {
    jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
}

#[track_caller]
fn assert_valid(schema: &Validator, document: &Value) {
    let errors: Vec<_> =
        schema.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn convert(more: &[&str]) -> Value {
    let mut args = vec!["mfu", "convert", "--model", "llama3.1-8b", "--seq", "8192", "--format", "json"];
    args.extend(more);
    let report = json(&args);
    assert_valid(&schema(include_str!("../../../schemas/mfu-convert.schema.json")), &report);
    report
}

fn close(found: &Value, expected: f64, relative: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / expected - 1.0).abs() < relative, "{found} against {expected}");
}

/// The words of an error, however the terminal wraps them.
fn message(output: &Output) -> String {
    output.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn conversion_multiplies_flops_peak_and_tokens() {
    let report = convert(&["--mfu", "43%", "--from", "palm", "--to", "exact"]);
    close(&report["to"]["mfu"], 0.43 / 1.1252, 1e-4);
    assert_eq!(report["factors"].as_array().unwrap().len(), 2);
    // 420 TFLOP/s on H200 over the sparse peak: 21.2 % are 42.4 %.
    let report = convert(&[
        "--mfu",
        "0.2122",
        "--from",
        "megatron-lm",
        "--peak-from",
        "1979",
        "--device",
        "NVIDIA H200",
        "--dtype",
        "bf16",
    ]);
    close(&report["to"]["mfu"], 0.4245, 1e-3);
    assert_eq!(report["to"]["peak_source"], "H200 SXM, bf16");
    let report = convert(&[
        "--mfu",
        "0.8",
        "--from",
        "exact",
        "--scope-from",
        "summed=2",
        "--peak-from",
        "B200:bf16",
        "--peak-to",
        "GB200:bf16",
    ]);
    close(&report["to"]["mfu"], 0.8 / 2.0 * 2250.0 / 2500.0, 1e-9);
    close(&report["product"], 0.45, 1e-9);
}

#[test]
fn the_table_of_a_conversion() {
    let output = run(&[
        "mfu",
        "convert",
        "--mfu",
        "0.43",
        "--from",
        "torchtitan",
        "--to",
        "exact",
        "--model",
        "llama3.1-8b",
        "--seq",
        "8192",
        "--peak-from",
        "A100:bf16",
        "--peak-to",
        "312",
        "--scope-from",
        "padded=0.9",
    ]);
    assert!(output.status.success(), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout);
}

#[test]
fn what_cannot_be_converted_says_why() {
    let base = ["mfu", "convert", "--model", "llama3.1-8b", "--seq", "8192"];
    for (more, expected) in [
        (&["--mfu", "43", "--from", "palm"][..], "a percentage without its sign"),
        (&["--mfu", "120%", "--from", "exact"], "tokens-summed-over-tp"),
        (&["--mfu", "0.4", "--from", "plam"], "palm"),
        (&["--mfu", "0.4", "--from", "palm", "--peak-from", "1979"], "state both, or neither"),
        (&["--mfu", "0.4", "--from", "palm", "--device", "H100", "--dtype", "bf16"], "H100 PCIe"),
        (&["--mfu", "0.4", "--from", "palm", "--device", "V100 SXM2", "--dtype", "bf16"], "does not compute"),
        (&["--mfu", "0.4", "--from", "palm", "--scope-from", "tp"], "summed=RANKS"),
        (&["--mfu", "0.4", "--from", "palm", "--scope-from", "padded=1.5"], "above 0 and up to 1"),
        (&["--mfu", "0.4", "--from", "palm", "--peak-from=-1", "--peak-to", "3"], "above 0"),
        (&["--mfu", "nan", "--from", "palm"], "above zero"),
        (&["--mfu", "0.4", "--from", "palm", "--scope-from", "summed=0"], "`summed over 0 ranks`"),
        (
            &["--mfu", "0.4", "--from", "palm", "--peak-from", "989.4", "--peak-to", "989.4e12"],
            "--peak-to 989400000000000",
        ),
    ] {
        let output = run(&[&base[..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(message(&output).contains(expected), "{expected}: {}", output.stderr);
    }
    // Above 1 in a convention that counts more than runs, below in exact FLOPs: converted, with a warning.
    let report = convert(&["--mfu", "1.05", "--from", "palm"]);
    assert!(report["warnings"][0].as_str().unwrap().contains("counts more than runs"));
}

/// A log and a quoted MFU say nothing of images.
#[test]
fn images_are_in_no_figure() {
    let convert = run(&[
        "mfu",
        "convert",
        "--model",
        "qwen2.5-vl-7b",
        "--seq",
        "8192",
        "--mfu",
        "0.4",
        "--from",
        "palm",
    ]);
    assert!(convert.stdout.contains("text model alone"), "{}", convert.stdout);
    let line = "step: 10  loss: 10.2  memory: 50.0GiB(60%)  tps: 7,000  tflops: 405.38  mfu: 40.99%\n";
    let text_alone = Audit::new(line, &["--model", "qwen2.5-vl-7b", "--seq", "8192", "--devices", "8"]);
    let (report, _) = text_alone.report();
    assert!(report["warnings"][0].as_str().unwrap().contains("text model alone"), "{report}");
    let tower = Audit::new(line, &["--model", "vit-h-14-224", "--seq", "8192", "--devices", "8"]).run(&[]);
    assert_eq!(tower.status.code(), Some(2));
    assert!(message(&tower).contains("no text model"), "{}", tower.stderr);
}

struct Audit {
    folder: tempfile::TempDir,
    args: Vec<String>,
}

impl Audit {
    fn new(log: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.log");
        std::fs::write(&path, log).unwrap();
        let mut all = vec!["mfu".to_owned(), "audit".to_owned(), path.display().to_string()];
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        Self { folder, args: all }
    }

    fn run(&self, more: &[&str]) -> Output {
        let mut args = self.args.clone();
        args.extend(more.iter().map(|&arg| arg.to_owned()));
        run(&args)
    }

    /// The report and whether every figure agrees.
    fn report(&self) -> (Value, bool) {
        let output = self.run(&["--format", "json"]);
        assert!(output.status.code().is_some_and(|code| code < 2), "{}", output.stderr);
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_valid(&schema(include_str!("../../../schemas/mfu-audit.schema.json")), &report);
        (report, output.status.success())
    }
}

fn figure<'a>(report: &'a Value, key: &str) -> &'a Value {
    let figures = report["figures"].as_array().unwrap();
    figures.iter().find(|figure| figure["figure"] == key).unwrap()
}

fn first_fault(figure: &Value) -> &str {
    figure["explanations"][0]["faults"][0]["name"].as_str().unwrap()
}

// The lines are made from the exact counts: 51.4712 GFLOP a token for Llama-3 8B at 8192.
const H100: [&str; 6] = ["--model", "llama3.1-8b", "--device", "H100 SXM5", "--dtype", "bf16"];

#[test]
fn torchtitan_counts_a_square() {
    let log = "[titan] - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory\n\
         [titan] - root - INFO - Peak FLOPS used for computing MFU: 9.890e+14\n\
         [titan] - root - INFO - Building 1-D device mesh with ['dp_shard'], [8]\n\
         [titan] - root - INFO - Trainer is initialized with local batch size 1, global batch size 8, \
         gradient accumulation steps 1, sequence length 8192, total steps 100 (warmup 2)\n\
         [titan] - root - INFO - step:  1  loss: 12.2  memory: 42.0GiB(30.10%)  tps: 1,478  tflops: 85.60  mfu: 8.66%\n\
         [titan] - root - INFO - step: 10  loss:  9.8  memory: 49.5GiB(35.46%)  tps: 7,026  tflops: 406.91  mfu: 41.14%\n\
         [titan] - root - INFO - step: 20  loss:  8.3  memory: 49.5GiB(35.46%)  tps: 7,080  tflops: 410.03  mfu: 41.46%\n";
    let audit = Audit::new(log, &["--model", "llama3.1-8b", "--dtype", "bf16"]);
    let (report, agrees) = audit.report();
    assert!(!agrees);
    assert_eq!(report["log"]["step"], 10);
    assert_eq!(report["run"]["device"], "H100 SXM5");
    assert_eq!(first_fault(figure(&report, "tflops_per_device")), "causal-as-square");
    assert_eq!(figure(&report, "peak_tflops")["verdict"], "agrees");
    assert_eq!(figure(&report, "mfu")["verdict"], "follows");
    close(&figure(&report, "mfu")["right"], 7026.0 * 51.4712e9 / 989.4e12, 1e-4);
    let page = audit.run(&[]).stdout.replace(&audit.folder.path().display().to_string(), "logs");
    insta::assert_snapshot!(page);
}

#[test]
fn megatron_agrees_and_its_mfu_is_computed() {
    // 256 sequences of 8192 in 6.0 s on 64 devices: 5461.3 tokens/s a device, 281.1 TFLOP/s.
    let log = " [2026-01-02 03:04:05] iteration       10/     100 | consumed samples:  2560 | \
         elapsed time per iteration (ms): 6000.0 | throughput per GPU (TFLOP/s/GPU): 281.1 | global batch size:   256 |\n";
    let mut args = H100.to_vec();
    args.extend(["--seq", "8192", "--devices", "64"]);
    let (report, agrees) = Audit::new(log, &args).report();
    assert!(agrees, "{report}");
    close(&report["mfu"], 281.1 / 989.4, 1e-3);
    assert_eq!(report["tokens_are_recomputed"], true);
    // The layout says tokens were summed over tensor-parallel ranks: the printed rate is twice the right one.
    let wrong = log.replace("281.1", "562.2");
    let audit = Audit::new(&wrong, &[&args[..], &["--tp", "2"]].concat());
    let (report, agrees) = audit.report();
    assert!(!agrees);
    assert_eq!(first_fault(figure(&report, "tflops_per_device")), "tokens-summed-over-tp");
}

#[test]
fn faults_of_other_formats() {
    // nanochat #177: four micro-batches of 65,536 tokens in 1 s, one of them counted.
    let log = "Total batch size 262,144 => gradient accumulation steps: 4\n\
         step 00010/21400 (0.05%) | loss: 5.1 | lrm: 1.00 | dt: 1000.00ms | tok/sec: 65,536 | total time: 0.5m\n";
    let args = ["--model", "gpt2-124m", "--seq", "1024", "--devices", "8", "--global-batch", "256"];
    let (report, _) = Audit::new(log, &args).report();
    let rate = figure(&report, "tokens_per_second");
    assert_eq!(
        (first_fault(rate), &rate["right"]),
        ("gradient-accumulation-missing", &Value::from(262_144.0))
    );
    // nanoGPT divides by an A100's peak, whatever the device: what 30 % of an H100 become in its words.
    let printed = json(&[
        "mfu",
        "convert",
        "--mfu",
        "30%",
        "--from",
        "exact",
        "--to",
        "nanogpt",
        "--model",
        "gpt2-124m",
        "--seq",
        "1024",
        "--peak-from",
        "H100 SXM5:bf16",
        "--peak-to",
        "312",
        "--format",
        "json",
    ]);
    let per_token = printed["from"]["flops_per_token"].as_f64().unwrap();
    let tokens_per_step = 512.0 * 1024.0;
    let milliseconds = tokens_per_step * per_token / (0.3 * 989.4e12) * 1e3;
    let mfu = printed["to"]["mfu"].as_f64().unwrap() * 100.0;
    assert!(mfu > 100.0);
    let (report, _) = Audit::new(
        &format!("iter 10: loss 4.3000, time {milliseconds:.2}ms, mfu {mfu:.2}%\n"),
        &[
            "--model",
            "gpt2-124m",
            "--seq",
            "1024",
            "--devices",
            "1",
            "--global-batch",
            "512",
            "--device",
            "H100 SXM5",
            "--dtype",
            "bf16",
        ],
    )
    .report();
    close(&report["mfu"], 0.3, 1e-3);
    let faults = &figure(&report, "mfu")["explanations"][0]["faults"];
    let names: Vec<_> =
        faults.as_array().unwrap().iter().map(|fault| fault["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["causal-as-square", "a100-peak"]);
    // MaxText before PR #1988.
    let log = "completed step: 5, seconds: 4.000, TFLOP/s/device: 430.305, Tokens/s/device: 8192.0, total_weights: 131072, loss: 1\n";
    let args = ["--model", "llama2-7b", "--seq", "8192", "--devices", "4", "--global-batch", "16"];
    let (report, _) = Audit::new(log, &args).report();
    assert_eq!(figure(&report, "tokens_per_second_per_device")["verdict"], "agrees");
    assert_eq!(first_fault(figure(&report, "tflops_per_device")), "causal-as-square");
}

#[test]
fn what_is_missing_is_asked_for() {
    let line = "iteration 10/ 100 | elapsed time per iteration (ms): 6000.0 | global batch size: 256 |\n";
    for (log, args, expected) in [
        (line, &["--model", "llama3.1-8b"][..], "--seq"),
        (line, &["--model", "llama3.1-8b", "--seq", "8192"], "--devices"),
        (
            line,
            &["--model", "llama3.1-8b", "--seq", "8192", "--devices", "6", "--tp", "4"],
            "does not divide",
        ),
        (
            line,
            &["--model", "llama3.1-8b", "--seq", "8192", "--devices", "8", "--dp", "2"],
            "--devices says 8",
        ),
        (line, &["--model", "llama9", "--seq", "8192", "--devices", "8"], "llama"),
        (line, &["--model", "llama3.1-8b", "--seq", "8", "--devices", "8", "--step", "3"], "--step"),
        (line, &["--model", "llama3.1-8b", "--seq", "8", "--devices", "8", "--documents", "9"], "documents"),
        (line, &["--model", "llama3.1-8b", "--seq", "8", "--devices", "8", "--real-share", "1.5"], "up to 1"),
        (line, &["--model", "llama3.1-8b", "--seq", "8", "--devices", "8", "--tolerance", "60%"], "0.5"),
        (
            line,
            &["--model", "llama3.1-8b", "--seq", "8", "--devices", "8", "--peak-tflops", "1e15"],
            "of one device",
        ),
        ("hello\n", &["--model", "llama3.1-8b", "--seq", "8", "--devices", "8"], "torchtitan"),
        (
            "iteration 10/ 100 | elapsed time per iteration (ms): nan |\n",
            &["--model", "llama3.1-8b", "--seq", "8", "--devices", "8"],
            "field step time",
        ),
    ] {
        let output = Audit::new(log, args).run(&[]);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(message(&output).contains(expected), "{expected}: {}", output.stderr);
    }
    let audit = Audit::new(line, &["--model", "llama3.1-8b", "--seq", "8192", "--devices", "64"]);
    assert!(audit.folder.path().exists());
    let (report, agrees) = audit.report();
    assert!(agrees && report["mfu"].is_null() && report["figures"].as_array().unwrap().is_empty());
}

#[test]
fn public_logs_are_audited() {
    let Some(shared) = shared() else { return };
    let path = |name: &str| shared.join(name).display().to_string();
    // An H100 run quoted in the TorchAO documentation.
    let log = path("timelines/torchtitan/variants.log");
    let report = audit_public(&log, &["--step", "20", "--seq", "8192", "--devices", "8"]);
    assert_eq!(first_fault(figure(&report, "tflops_per_device")), "causal-as-square");
}

fn audit_public(log: &str, more: &[&str]) -> Value {
    let mut args = vec!["mfu", "audit", log, "--format", "json"];
    args.extend(H100);
    args.extend(more);
    let output = run(&args);
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}
