//! A row of a map, told once for Rust and for C.
//!
//! `row!` declares a `repr(C)` struct and describes its fields, so that the C header can be
//! printed from the very declaration the agent compiles; [`bytemuck`] refuses padding the
//! declaration does not name.

/// How a field's type is spelled in C.
pub trait CType {
    /// The type without array brackets.
    const BASE: &'static str;
    /// The number of elements of an array.
    const LEN: Option<usize> = None;
}

impl CType for u8 {
    const BASE: &'static str = "__u8";
}

impl CType for u16 {
    const BASE: &'static str = "__u16";
}

impl CType for u32 {
    const BASE: &'static str = "__u32";
}

impl CType for u64 {
    const BASE: &'static str = "__u64";
}

impl<T: CType, const N: usize> CType for [T; N] {
    const BASE: &'static str = T::BASE;
    const LEN: Option<usize> = Some(N);
}

/// One field of a row.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its doc comment, one line per item.
    pub doc: &'static [&'static str],
    /// Its name, the same in both languages.
    pub name: &'static str,
    /// Its type in C, without array brackets.
    pub base: &'static str,
    /// The number of elements of an array.
    pub len: Option<usize>,
    /// Where it starts, in bytes.
    pub offset: usize,
}

/// A row of a map or a record of the ring buffer.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its doc comment, one line per item.
    pub doc: &'static [&'static str],
    /// Its name in C.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its fields in order.
    pub fields: &'static [Field],
}

macro_rules! row {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident as $c_name:literal {
            $($(#[doc = $field_doc:literal])* pub $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[repr(C)]
        #[derive(
            Clone,
            Copy,
            Debug,
            Eq,
            Hash,
            Ord,
            PartialEq,
            PartialOrd,
            bytemuck::Pod,
            bytemuck::Zeroable,
        )]
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                bytemuck::Zeroable::zeroed()
            }
        }

        impl $crate::layout::CType for $name {
            const BASE: &'static str = concat!("struct ", $c_name);
        }

        impl $name {
            /// The row's layout, for the C header.
            pub const ROW: $crate::layout::Row = $crate::layout::Row {
                doc: &[$($doc),*],
                name: $c_name,
                size: size_of::<Self>(),
                fields: &[$($crate::layout::Field {
                    doc: &[$($field_doc),*],
                    name: stringify!($field),
                    base: <$kind as $crate::layout::CType>::BASE,
                    len: <$kind as $crate::layout::CType>::LEN,
                    offset: core::mem::offset_of!($name, $field),
                }),*],
            };
        }
    };
}

pub(crate) use row;
