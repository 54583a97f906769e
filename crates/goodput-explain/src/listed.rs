//! What a prediction lists: kernels, arithmetic and the spread of times behind each of its terms.

use goodput_predict::kernel::{KernelError, KernelTables};
use goodput_predict::layer::{Layers, Part, Passes, Term, Terms};
use goodput_predict::run::{Recompute, Run};

/// One term's kernels on a device, the mean over all, of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ListedTerm {
    /// Time, ns.
    pub ns: f64,
    /// One standard deviation of it, ns; parts are taken as of one cause.
    pub spread_ns: f64,
    /// Kernels, or exchanges.
    pub kernels: f64,
    /// FLOPs of products and attention.
    pub flops: f64,
}

/// The kernels and exchanges of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listed([ListedTerm; Term::ALL.len()]);

impl Listed {
    /// Of a run that has a prediction.
    ///
    /// # Errors
    /// [`KernelError`] where the device has no time for a kernel.
    pub fn of(run: &Run, tables: &KernelTables) -> Result<Self, KernelError> {
        let mut listed = Self::default();
        let Some(text) = &run.architecture.text else { return Ok(listed) };
        let layers = Layers::new(run, tables);
        // Every micro-batch passes every layer once, on one of the stages.
        let each = run.micro_batches().unwrap_or(1) as f64 / f64::from(run.layout.pipeline.max(1));
        let blocks: u64 = text.decoder.iter().map(|group| group.blocks).sum();
        let again = match run.recompute {
            Recompute::Full => 1.0,
            Recompute::Layers(of_a_part) => {
                let parts = u64::from(run.layout.pipeline) * u64::from(run.parts());
                ((u64::from(of_a_part) * parts) as f64 / blocks.max(1) as f64).min(1.0)
            }
            _ => 0.0,
        };
        for group in &text.decoder {
            for (whole, share) in [(true, again), (false, 1.0 - again)] {
                if share > 0.0 {
                    listed.add(&layers.block(text, group, whole)?, each * share * group.blocks as f64);
                }
            }
        }
        listed.add(&layers.embedding(text)?, each);
        listed.add(&layers.head(text)?, each);
        if let (modules @ 1.., Some(last)) = (text.multi_token_prediction, text.decoder.last()) {
            let module = layers.multi_token_prediction(text, last, run.recompute == Recompute::Full)?;
            listed.add(&module, each * modules as f64);
        }
        Ok(listed)
    }

    /// Of one term.
    pub fn term(&self, term: Term) -> ListedTerm {
        self.0[term as usize]
    }

    /// The same on devices whose kernels take other times than the mean device's, as those of some stages do: each term's
    /// kernels and arithmetic in the proportion of its time.
    #[must_use]
    pub fn on(&self, devices: &Terms, mean: &Terms) -> Self {
        let mut listed = self.clone();
        for (term, of) in Term::ALL.into_iter().zip(&mut listed.0) {
            let mean_ns = mean.of(term);
            let ratio = if mean_ns > 0.0 { devices.of(term) / mean_ns } else { 1.0 };
            let ListedTerm { ns, spread_ns, kernels, flops } = *of;
            *of = ListedTerm {
                ns: ns * ratio,
                spread_ns: spread_ns * ratio,
                kernels: kernels * ratio,
                flops: flops * ratio,
            };
        }
        listed
    }

    fn add(&mut self, passes: &Passes, times: f64) {
        let Passes { forward, recompute, input_gradient, weight_gradient, .. } = passes;
        for Part { term, estimate, host, flops, .. } in
            forward.iter().chain(recompute).chain(input_gradient).chain(weight_gradient)
        {
            let of = &mut self.0[*term as usize];
            of.ns += estimate.ns * times;
            of.spread_ns += estimate.ns * estimate.deviation * times;
            of.flops += flops * times;
            // What only the host does runs no kernel.
            if estimate.ns > 0.0 {
                of.kernels += host.kernels() * times;
            }
        }
    }
}
