//! A config.json or our own YAML, and everything that is counted from it.
#![no_main]

use goodput_model::{Architecture, Batch, Convention, FlopCounter, Grid, Recompute, Training};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read =
        [Architecture::from_hugging_face(text, "config.json"), Architecture::from_yaml(text, "model.yaml")];
    for architecture in read.into_iter().flatten() {
        let parameters = architecture.parameters().unwrap();
        assert!(parameters.active <= parameters.total);
        let _ = architecture.cache();
        let counter = FlopCounter::new(&architecture, &Training::full()).unwrap();
        // The largest batch that there is must not overflow.
        let batch = Batch::rows(1, 1 << 46).unwrap().with_images(&[Grid::image(1 << 20, 1 << 20)]).unwrap();
        for batch in [Batch::rows(1, 1 << 47).unwrap(), batch.with_sources(&[1 << 46]).unwrap()] {
            if let Ok(flops) = counter.count(&batch, Recompute::Full) {
                assert!(flops.executed() >= flops.useful().total());
            }
        }
        for convention in Convention::ALL {
            let _ = convention.flops_per_token(&architecture, 1 << 20);
        }
    }
});
