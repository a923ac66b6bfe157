//! Typed indices: a table is indexed by the one type made for it.

/// A number that names one of many things, which are counted from 0 on.
pub(crate) trait Index: Copy + Eq {
    /// Returns the number of the thing at a position.
    fn at(position: usize) -> Self;

    /// Returns the position of what the number names.
    fn position(self) -> usize;
}

impl Index for u32 {
    fn at(position: usize) -> u32 {
        u32::try_from(position).expect("positions fit in 32 bits")
    }

    fn position(self) -> usize {
        self as usize
    }
}

/// Declares a `u32` index type: `index_type!(/// Names a rule. pub RuleId);`
macro_rules! index_type {
    ($(#[$meta:meta])* $vis:vis $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(pub(crate) u32);

        impl $name {
            /// Returns the id of position `index`.
            ///
            /// # Panics
            /// If `index` does not fit in 32 bits.
            #[inline]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("index fits in 32 bits"))
            }

            /// Returns the position that this id names.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::util::Index for $name {
            fn at(position: usize) -> Self {
                Self::new(position)
            }

            fn position(self) -> usize {
                self.index()
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}
pub(crate) use index_type;
