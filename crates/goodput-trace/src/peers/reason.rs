//! Why a communication kernel is not divided into wait and transfer.

macro_rules! reasons {
    ($( $(#[$doc:meta])* $name:ident => $key:literal, $label:literal; )+) => {
        /// Why a communication kernel is not divided into wait and transfer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NotSplitReason { $( $(#[$doc])* $name, )+ }

        impl NotSplitReason {
            /// The word used in JSON.
            pub fn key(self) -> &'static str {
                match self { $( Self::$name => $key, )+ }
            }

            /// The words that a report shows.
            pub fn label(self) -> &'static str {
                match self { $( Self::$name => $label, )+ }
            }
        }
    };
}

reasons! {
    /// A member of its group has no trace here.
    MissingTrace => "missing_trace", "a member's trace was not given";
    /// All members have traces, and one of them lacks this exchange: captures start and end apart.
    NotRecorded => "not_recorded", "a member's trace does not hold it";
    /// The members do not agree on kind or size.
    Differing => "differing", "kind or size differs between members";
    /// A kind that lets members go before the last one comes (broadcast, reduce, …).
    NotSynchronising => "not_synchronising", "members of this kind do not wait for each other";
    /// The trace hides the kind.
    UnknownKind => "unknown_kind", "the trace hides which exchange it is";
    /// The trace does not tell which ranks belong to it.
    UnknownGroup => "unknown_group", "the trace does not tell the members";
    /// The trace does not tell sender and receiver.
    UnknownPeer => "unknown_peer", "the trace does not tell sender and receiver";
    /// The ends still differ by more than the shortest member lasts.
    LooseClocks => "loose_clocks", "clocks differ by more than it lasts";
    /// Nothing ties the clocks of the members together.
    NoCommonClock => "no_common_clock", "nothing ties the members' clocks together";
}
