//! A RUN.yaml, and its prediction where it is a run.
#![no_main]

use std::path::Path;

use goodput_predict::run::Run;
use goodput_predict::step::Predictor;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // A folder that is not there: no file is opened.
    let Ok(run) = Run::from_yaml("run.yaml", text, Path::new("/nowhere")) else { return };
    if let Ok(prediction) = Predictor::new(&run.cluster).and_then(|mut predictor| predictor.predict(&run)) {
        assert!(prediction.step_ns.is_finite() && prediction.step_ns > 0.0);
        assert!((prediction.terms.sum() / prediction.step_ns - 1.0).abs() < 1e-6);
    }
});
