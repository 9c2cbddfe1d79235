//! Declaration of a map row, for Rust and for C at once.
//!
//! `row!` declares a `repr(C)` struct and describes its fields; the C header is printed from that
//! description. [`bytemuck`] refuses padding that the declaration does not name.

/// C spelling of a field's type.
pub trait CType {
    /// Name of the C type without array brackets.
    const BASE: &'static str;
    /// Number of elements if the type is an array.
    const LEN: Option<usize> = None;
}

macro_rules! c_types {
    ($($rust:ty => $c:literal,)*) => {
        $(impl CType for $rust {
            const BASE: &'static str = $c;
        })*
    };
}

c_types! {
    u8 => "__u8",
    u16 => "__u16",
    u32 => "__u32",
    u64 => "__u64",
}

impl<T: CType, const N: usize> CType for [T; N] {
    const BASE: &'static str = T::BASE;
    const LEN: Option<usize> = Some(N);
}

/// Field of a map row or ring buffer record, as declared in C.
#[derive(Clone, Copy, Debug)]
pub struct FieldLayout {
    /// Lines of the field's doc comment.
    pub doc: &'static [&'static str],
    /// Name of the field, the same in Rust and C.
    pub name: &'static str,
    /// Type of the field in C, without array brackets.
    pub base: &'static str,
    /// Number of elements if the field is an array.
    pub len: Option<usize>,
    /// Offset of the field in the row, bytes.
    pub offset: usize,
}

/// Layout of a map row or of a ring buffer record.
#[derive(Clone, Copy, Debug)]
pub struct RowLayout {
    /// Lines of the row's doc comment.
    pub doc: &'static [&'static str],
    /// Name of the row in C.
    pub name: &'static str,
    /// Size of the row, bytes.
    pub size: usize,
    pub fields: &'static [FieldLayout],
}

macro_rules! row {
    (
        $(#[doc = $doc:literal])*
        $(#[cfg_attr($feature:meta, $derive:meta)])?
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
        $(#[cfg_attr($feature, $derive)])?
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
            /// Layout of the row, for the C header.
            pub const ROW: $crate::layout::RowLayout = $crate::layout::RowLayout {
                doc: &[$($doc),*],
                name: $c_name,
                size: size_of::<Self>(),
                fields: &[$($crate::layout::FieldLayout {
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
