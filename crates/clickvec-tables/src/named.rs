//! Choices with names.

/// Defines an enum, the list of all of its values, and the name of each, which is how it is shown and looked up.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $choice:ident { $($(#[$doc:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $choice { $($(#[$doc])* $value,)+ }

        impl $choice {
            /// All of them, in order.
            pub const ALL: [$choice; [$($name),+].len()] = [$($choice::$value),+];

            /// Returns the name.
            pub fn name(self) -> &'static str {
                match self { $($choice::$value => $name,)+ }
            }

            /// Returns the one with this name.
            pub fn from_name(name: &str) -> Option<$choice> {
                $choice::ALL.into_iter().find(|choice| choice.name() == name)
            }
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
