//! What it takes to use a route. A rule is plain data, and so is the judgement of who asks by it.
use gleaner_accounts::token::{Scope, Scopes};
use gleaner_accounts::{Role, Roles};

/// Whose a thing has to be for an account to use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owned {
    /// Nothing in particular: the handler shows what is the caller's.
    Nothing,
    /// The job in the path.
    Job,
    /// The dataset in the path.
    Dataset,
    /// The worker in the path.
    Worker,
    /// The job of the submission in the path, once there is one.
    Submission,
}

/// How an account must have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// By a session; tokens are for programs, which have no business here.
    Session,
    /// By a session, or by a token with this scope.
    Scope(Scope),
}

/// What lets an account in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) by: By,
    /// A second scope that a token needs.
    pub(crate) also: Option<Scope>,
    /// A role that it must have.
    pub(crate) role: Option<Role>,
    pub(crate) owned: Owned,
}

/// What it takes to use a route. The operator may use every route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Whether no credentials are asked for.
    pub(crate) anyone: bool,
    /// Whether connected workers may.
    pub(crate) worker: bool,
    /// Whether accounts may, and which.
    pub(crate) account: Option<Grant>,
    /// Whether using it counts as a try to come in.
    pub(crate) entry: bool,
}

/// Who asks, as far as rules go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody known.
    Nobody,
    /// A connected worker.
    Worker,
    /// An account, by a session.
    Session(Roles),
    /// An account, by a token.
    Token(Roles, Scopes),
    /// The operator, by the token in the hub's folder or by a session of an account with that role.
    Operator,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Go on.
    Allowed,
    /// Go on, if this is the account's.
    Owner(Owned),
    /// Credentials are missing.
    Unauthorized,
    /// A session is needed.
    SessionNeeded,
    /// The token is not good for this.
    ScopeNeeded(Scope),
    /// The account has not this role.
    RoleNeeded(Role),
    /// Not for those who ask.
    Forbidden,
}

impl Rule {
    /// Everybody.
    pub(crate) const ANYONE: Self = Self { anyone: true, worker: false, account: None, entry: false };
    /// Everybody, a limited number of times: it lets people in.
    pub(crate) const ENTRY: Self = Self { entry: true, ..Self::ANYONE };
    /// The operator alone.
    pub(crate) const OPERATOR: Self = Self { anyone: false, worker: false, account: None, entry: false };
    /// Connected workers.
    pub(crate) const WORKER: Self = Self { worker: true, ..Self::OPERATOR };
    /// Accounts, by a session.
    pub(crate) const SESSION: Self = Self::OPERATOR.or_account(By::Session);

    /// Accounts with a scope, too.
    pub(crate) const fn or(self, scope: Scope) -> Self {
        self.or_account(By::Scope(scope))
    }

    const fn or_account(self, by: By) -> Self {
        Self { account: Some(Grant { by, also: None, role: None, owned: Owned::Nothing }), ..self }
    }

    /// Accounts with a scope.
    pub(crate) const fn account(scope: Scope) -> Self {
        Self::OPERATOR.or(scope)
    }

    /// Of tokens only those with this scope, too.
    pub(crate) const fn and(self, scope: Scope) -> Self {
        match self.account {
            None => self,
            Some(grant) => Self { account: Some(Grant { also: Some(scope), ..grant }), ..self },
        }
    }

    /// Of accounts only those that own this.
    pub(crate) const fn of(self, owned: Owned) -> Self {
        match self.account {
            None => self,
            Some(grant) => Self { account: Some(Grant { owned, ..grant }), ..self },
        }
    }

    /// Of accounts only those with this role.
    pub(crate) const fn with(self, role: Role) -> Self {
        match self.account {
            None => self,
            Some(grant) => Self { account: Some(Grant { role: Some(role), ..grant }), ..self },
        }
    }

    /// Whether somebody may.
    pub(crate) fn judge(&self, standing: Standing) -> Judgement {
        match standing {
            Standing::Operator => Judgement::Allowed,
            _ if self.anyone => Judgement::Allowed,
            Standing::Nobody => Judgement::Unauthorized,
            Standing::Worker if self.worker => Judgement::Allowed,
            Standing::Worker => Judgement::Forbidden,
            Standing::Session(roles) => self.judge_account(roles, None),
            Standing::Token(roles, scopes) => self.judge_account(roles, Some(scopes)),
        }
    }

    fn judge_account(&self, roles: Roles, scopes: Option<Scopes>) -> Judgement {
        let Some(grant) = self.account else { return Judgement::Forbidden };
        match (grant.by, scopes) {
            (By::Session, Some(_)) => return Judgement::SessionNeeded,
            (By::Scope(scope), Some(scopes)) if !scopes.has(scope) => return Judgement::ScopeNeeded(scope),
            (By::Session | By::Scope(_), _) => {}
        }
        if let (Some(also), Some(scopes)) = (grant.also, scopes)
            && !scopes.has(also)
        {
            return Judgement::ScopeNeeded(also);
        }
        if let Some(role) = grant.role.filter(|role| !roles.has(*role)) {
            return Judgement::RoleNeeded(role);
        }
        match grant.owned {
            Owned::Nothing => Judgement::Allowed,
            owned => Judgement::Owner(owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Rule = Rule::account(Scope::Read).of(Owned::Job).with(Role::Requester);

    #[test]
    fn a_token_needs_the_scope_and_a_session_does_not() {
        let roles = Roles::default();
        let (none, read) = (Scopes::default(), Scopes::of(&[Scope::Read]));
        assert_eq!(READ.judge(Standing::Session(roles)), Judgement::Owner(Owned::Job));
        assert_eq!(READ.judge(Standing::Token(roles, read)), Judgement::Owner(Owned::Job));
        assert_eq!(READ.judge(Standing::Token(roles, none)), Judgement::ScopeNeeded(Scope::Read));
        assert_eq!(Rule::SESSION.judge(Standing::Token(roles, read)), Judgement::SessionNeeded);
    }

    #[test]
    fn where_two_scopes_are_needed_one_is_not_enough() {
        let (rule, roles) = (Rule::account(Scope::Submit).and(Scope::Read), Roles::default());
        let judge = |scopes: &[Scope]| rule.judge(Standing::Token(roles, Scopes::of(scopes)));
        assert_eq!(judge(&[Scope::Submit]), Judgement::ScopeNeeded(Scope::Read));
        assert_eq!(judge(&[Scope::Read]), Judgement::ScopeNeeded(Scope::Submit));
        assert_eq!(judge(&[Scope::Read, Scope::Submit]), Judgement::Allowed);
        assert_eq!(rule.judge(Standing::Session(roles)), Judgement::Allowed);
    }

    #[test]
    fn a_role_that_is_missing_is_named() {
        let provider = Roles::none().with(Role::Provider);
        assert_eq!(READ.judge(Standing::Session(provider)), Judgement::RoleNeeded(Role::Requester));
    }

    #[test]
    fn workers_and_accounts_stay_out_of_what_is_the_operators() {
        for standing in [Standing::Worker, Standing::Session(Roles::default())] {
            assert_eq!(Rule::OPERATOR.judge(standing), Judgement::Forbidden);
        }
        assert_eq!(Rule::OPERATOR.judge(Standing::Nobody), Judgement::Unauthorized);
        assert_eq!(Rule::OPERATOR.judge(Standing::Operator), Judgement::Allowed);
        assert_eq!(Rule::WORKER.judge(Standing::Worker), Judgement::Allowed);
        assert_eq!(READ.judge(Standing::Worker), Judgement::Forbidden);
    }

    #[test]
    fn everybody_may_what_everybody_may() {
        for standing in [Standing::Nobody, Standing::Worker, Standing::Session(Roles::none()), Standing::Operator] {
            assert_eq!(Rule::ANYONE.judge(standing), Judgement::Allowed);
        }
    }
}
