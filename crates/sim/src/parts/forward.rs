//! Enums that are one of several parts, and do what the part does.

/// The methods of an enum that hand each call to the part inside, whichever of the named variants
/// it is: `forward! { [BuiltIn Own] fn looks(&self) -> Looks; }`.
macro_rules! forward {
    ($variants:tt) => {};
    (
        $variants:tt
        $(#[$meta:meta])* $vis:vis fn $name:ident(
            &self $(, $given:ident: $type:ty)* $(,)?
        ) $(-> $answer:ty)?;
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        $vis fn $name(&self $(, $given: $type)*) $(-> $answer)? {
            $crate::parts::forward::call!($variants self.$name($($given),*))
        }
        $crate::parts::forward::forward! { $variants $($rest)* }
    };
    (
        $variants:tt
        $(#[$meta:meta])* $vis:vis fn $name:ident(
            &mut self $(, $given:ident: $type:ty)* $(,)?
        ) $(-> $answer:ty)?;
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        $vis fn $name(&mut self $(, $given: $type)*) $(-> $answer)? {
            $crate::parts::forward::call!($variants self.$name($($given),*))
        }
        $crate::parts::forward::forward! { $variants $($rest)* }
    };
}
pub(crate) use forward;

/// One call of a method of the part inside.
macro_rules! call {
    ([$($variant:ident)+] $enum:ident.$name:ident $given:tt) => {
        match $enum { $(Self::$variant(part) => part.$name $given,)+ }
    };
}
pub(crate) use call;
