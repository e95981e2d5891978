//! What accounts may be.
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What an account may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Has work done.
    Requester,
    /// Has machines that do it.
    Provider,
    /// Runs the hub.
    Operator,
}

/// Why a text is not a role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role: there are requester, provider and operator")]
pub struct RoleError(String);

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Requester, Self::Provider, Self::Operator];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Provider => "provider",
            Self::Operator => "operator",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Requester => 1,
            Self::Provider => 2,
            Self::Operator => 4,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| RoleError(text.to_owned()))
    }
}

/// The roles of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles(u8);

impl Default for Roles {
    /// Requester and provider.
    fn default() -> Self {
        Self::none().with(Role::Requester).with(Role::Provider)
    }
}

impl Roles {
    /// None at all.
    pub const fn none() -> Self {
        Self(0)
    }

    /// One more.
    #[must_use]
    pub fn with(self, role: Role) -> Self {
        Self(self.0 | role.bit())
    }

    /// One fewer.
    #[must_use]
    pub fn without(self, role: Role) -> Self {
        Self(self.0 & !role.bit())
    }

    /// Whether a role is among them.
    pub fn has(self, role: Role) -> bool {
        self.0 & role.bit() != 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.has(*role))
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Roles as they were stored; bits of no role are not kept.
    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(Role::ALL.into_iter().map(Role::bit).filter(|bit| bits & bit != 0).sum())
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        roles.into_iter().fold(Self::none(), Self::with)
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Role::name).collect();
        f.write_str(&names.join(", "))
    }
}

impl Serialize for Roles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Roles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().map(|name| name.parse::<Role>()).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_come_and_go_and_read_back() {
        let roles = Roles::default().with(Role::Operator).without(Role::Provider);
        assert_eq!(roles.to_string(), "requester, operator");
        let json = serde_json::to_string(&roles).expect("encoded");
        assert_eq!(json, r#"["requester","operator"]"#);
        assert_eq!(serde_json::from_str::<Roles>(&json).expect("decoded"), roles);
        assert_eq!(Roles::from_bits(roles.bits()), roles);
        assert!(serde_json::from_str::<Roles>(r#"["king"]"#).is_err());
    }
}
