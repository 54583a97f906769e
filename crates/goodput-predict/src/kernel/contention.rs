//! Computation beside an exchange that holds multiprocessors.

use super::KernelTables;

/// How much longer a product takes whose blocks run in two waves.
const TWO_WAVES: f64 = 2.0;

impl KernelTables {
    /// How much longer computation takes while exchanges hold `taken` of the device's multiprocessors, where the others share its work evenly.
    #[must_use]
    pub fn contention_ratio(&self, taken: u32) -> f64 {
        match self.machine.engines {
            Some(engines) if taken < engines => f64::from(engines) / f64::from(engines - taken),
            _ => 1.0,
        }
    }

    /// What remains of an exchange of `exchange_ns` beside computation of `window_ns`: what outlasts it, or what the multiprocessors
    /// that it holds slow the computation down by.
    #[must_use]
    pub fn exposed_ns(&self, taken: u32, exchange_ns: f64, window_ns: f64) -> f64 {
        exposed(self.contention_ratio(taken), exchange_ns, window_ns)
    }

    /// The same beside one product, which begins when the exchange does.
    ///
    /// Where a second wave waits for the multiprocessors, it runs when the exchange or the first wave has ended: a shorter exchange is
    /// not hidden at all, a longer one for as long as one wave.
    #[must_use]
    pub fn exposed_beside_a_product_ns(&self, taken: u32, exchange_ns: f64, product_ns: f64) -> f64 {
        if !self.waits(taken) {
            return self.exposed_ns(taken, exchange_ns, product_ns);
        }
        if exchange_ns <= product_ns { exchange_ns } else { product_ns.max(exchange_ns - product_ns) }
    }

    /// The same beside many kernels, of whose time products are a share.
    #[must_use]
    pub fn exposed_beside_products_ns(
        &self,
        taken: u32,
        exchange_ns: f64,
        window_ns: f64,
        products: f64,
    ) -> f64 {
        let others = self.contention_ratio(taken);
        let of_products = if self.waits(taken) { TWO_WAVES } else { others };
        exposed(products * of_products + (1.0 - products) * others, exchange_ns, window_ns)
    }

    const fn waits(&self, taken: u32) -> bool {
        self.second_wave && taken > 0
    }
}

fn exposed(ratio: f64, exchange_ns: f64, window_ns: f64) -> f64 {
    if exchange_ns <= window_ns * ratio { exchange_ns * (1.0 - 1.0 / ratio) } else { exchange_ns - window_ns }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use goodput_model::device::Catalogue;

    use super::*;

    fn on(device: &str) -> KernelTables {
        KernelTables::new(Catalogue::built_in().find(device).unwrap())
    }

    #[test]
    fn an_exchange_takes_its_share_of_the_multiprocessors() {
        let a100 = on("A100 SXM4 80GB");
        assert_eq!(a100.contention_ratio(24), 108.0 / 84.0);
        assert_eq!(a100.contention_ratio(0), 1.0);
        assert_eq!(a100.exposed_beside_a_product_ns(0, 10.0, 20.0), 0.0);
        assert_eq!(a100.exposed_beside_a_product_ns(0, 30.0, 20.0), 10.0);
        let slowed = 10.0 * (1.0 - 84.0 / 108.0);
        assert!((a100.exposed_beside_a_product_ns(24, 10.0, 20.0) - slowed).abs() < 1e-12);
        assert_eq!(a100.exposed_beside_products_ns(24, 10.0, 20.0, 0.7), a100.exposed_ns(24, 10.0, 20.0));
    }

    #[test]
    fn a_second_wave_waits_for_the_exchange_or_the_first() {
        let h100 = on("H100 SXM5");
        assert_eq!(h100.exposed_beside_a_product_ns(24, 10.0, 20.0), 10.0);
        assert_eq!(h100.exposed_beside_a_product_ns(24, 30.0, 20.0), 20.0);
        assert_eq!(h100.exposed_beside_a_product_ns(24, 60.0, 20.0), 40.0);
        assert_eq!(h100.exposed_beside_a_product_ns(0, 10.0, 20.0), 0.0);
        assert_eq!(h100.exposed_beside_products_ns(24, 10.0, 20.0, 1.0), 5.0);
    }
}
