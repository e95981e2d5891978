// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Names of the parameters, as `Parameters.get` knows them
library Names {
    /// The platform's share of every payment.
    bytes32 internal constant PLATFORM_SHARE_BPS = "platformShareBps";
    /// What the loser of a dispute pays, as a share of its security.
    bytes32 internal constant SLASH_SHARE_BPS = "slashShareBps";
    /// The requester's bond, as a share of an order's cap.
    bytes32 internal constant BOND_SHARE_BPS = "bondShareBps";
    /// The largest reward, as a share of the work it rewards.
    bytes32 internal constant REWARD_CAP_BPS = "rewardCapBps";
    /// What a provider or an auditor must have staked.
    bytes32 internal constant MINIMUM_STAKE = "minimumStake";
    /// What a hub must have staked to publish rewards.
    bytes32 internal constant HUB_STAKE = "hubStake";
    /// What is locked of a provider's stake for every order it works on.
    bytes32 internal constant WORK_LOCK = "workLock";
    /// What is locked of a hub's stake for every order.
    bytes32 internal constant HUB_LOCK = "hubLock";
    /// How long a settlement may be challenged, in seconds.
    bytes32 internal constant CHALLENGE_WINDOW = "challengeWindow";
    /// How long a committee has to decide, in seconds.
    bytes32 internal constant VOTING_WINDOW = "votingWindow";
    /// How long unbonding stake stays where it is, in seconds.
    bytes32 internal constant UNBONDING_DELAY = "unbondingDelay";
    /// How many auditors are drawn for a dispute.
    bytes32 internal constant COMMITTEE_SIZE = "committeeSize";
    /// The most that one epoch of rewards may give away.
    bytes32 internal constant EMISSION_PER_EPOCH = "emissionPerEpoch";
    /// The length of an epoch in seconds, read once when the rewards begin.
    bytes32 internal constant EPOCH_LENGTH = "epochLength";
    /// The longest time from an order's lock to its deadline, in seconds.
    bytes32 internal constant ORDER_DURATION_MAX = "orderDurationMax";
}
