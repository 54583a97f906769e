//! Measured rooflines of real traces.

use std::path::PathBuf;

use goodput_model::device::Catalogue;
use goodput_trace::class::Class;
use goodput_trace::read::{ReadOptions, read_file};
use goodput_trace::roofline::{Regime, Roofline, RooflineOptions};

fn roofline(name: &str) -> Option<Roofline> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces/kineto/", name].concat().into();
    let options = RooflineOptions { catalogue: Catalogue::built_in(), device: None, counters: None };
    path.exists().then(|| {
        let traces = read_file(&path, &ReadOptions::default()).expect("a readable trace");
        Roofline::of(&traces.ranks[0], &options)
    })
}

/// ViT-B/16 at 224 x 224 multiplies and adds 17.58 billion times an image (Dosovitskiy et al. 2021; timm counts 17.58).
#[test]
fn the_flops_of_a_vision_transformer_are_the_published_ones() {
    let Some(roofline) = roofline("h100_vit_infer_pyfunc.json.gz") else { return };
    let products: u128 = roofline.kernels.iter().filter(|k| k.class.is_matrix_work()).map(|k| k.flops).sum();
    let published = 4.0 * 2.0 * 17.58e9;
    assert!((products as f64 / published - 1.0).abs() < 0.01, "{products} of {published}");
    assert!(roofline.coverage() > Some(0.97), "{:?}", roofline.coverage());
}

/// Bytes by shape are a lower bound and FLOPs are what must be done: nothing runs above its device.
#[test]
fn no_kernel_exceeds_a_ceiling() {
    for name in ["h100_qwen05b.json.gz", "h100_vit_infer_pyfunc.json.gz", "mi300_qwen05b.json.gz"] {
        let Some(roofline) = roofline(name) else { continue };
        let mut placed = 0;
        for kernel in &roofline.kernels {
            let Ok(placement) = &kernel.placement else { continue };
            placed += 1;
            assert!(
                placement.compute_share() < 1.0 && placement.bandwidth_share() < 1.0,
                "{name}: {kernel:?}"
            );
        }
        assert!(placed > 5, "{name}: {placed} kernels placed");
    }
}

#[test]
fn large_products_are_near_the_peak_and_pointwise_work_never_is() {
    let Some(roofline) = roofline("h100_qwen05b.json.gz") else { return };
    let regimes = |class| {
        let of_class = roofline.kernels.iter().filter(move |k| k.class == class);
        of_class.filter_map(|k| k.placement.as_ref().ok()).map(|p| p.regime())
    };
    assert_eq!(regimes(Class::Gemm).next(), Some(Regime::NearCompute));
    assert!(regimes(Class::Elementwise).all(|regime| regime != Regime::NearCompute));
    assert!(regimes(Class::Elementwise).any(|regime| regime == Regime::NearBandwidth));
}
