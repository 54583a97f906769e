//! What the host does, by kind of work.

/// Work of the host; [`HostCost`](super::HostCost) says what each kind takes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostWork {
    /// Operations that launch one kernel that is no product.
    pub launches: f64,
    /// Matrix products and fused attention: operations that also choose an algorithm.
    pub products: f64,
    /// Collectives.
    pub exchanges: f64,
    /// Calls that launch nothing: views, modules, autograd functions, states of random generators.
    pub calls: f64,
}

impl HostWork {
    /// None.
    pub const NONE: Self = Self { launches: 0.0, products: 0.0, exchanges: 0.0, calls: 0.0 };
    /// One product.
    pub const PRODUCT: Self = Self { products: 1.0, ..Self::NONE };
    /// One collective.
    pub const EXCHANGE: Self = Self { exchanges: 1.0, ..Self::NONE };

    /// So many kernels.
    #[must_use]
    pub fn launches(count: usize) -> Self {
        Self { launches: count as f64, ..Self::NONE }
    }

    /// So many calls without a kernel.
    #[must_use]
    pub const fn calls(count: f64) -> Self {
        Self { calls: count, ..Self::NONE }
    }

    /// Kernels of it.
    #[must_use]
    pub fn kernels(&self) -> f64 {
        self.launches + self.products + self.exchanges
    }

    /// Adds so many times another's.
    pub fn add_times(&mut self, other: &Self, times: f64) {
        self.launches += other.launches * times;
        self.products += other.products * times;
        self.exchanges += other.exchanges * times;
        self.calls += other.calls * times;
    }
}
