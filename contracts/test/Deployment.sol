// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Court} from "../src/Court.sol";
import {Escrow} from "../src/Escrow.sol";
import {Rewards} from "../src/Rewards.sol";
import {Stake} from "../src/Stake.sol";
import {Vouchers} from "../src/Vouchers.sol";
import {Genesis} from "./Genesis.sol";

/// @title Everything, deployed in the order and with the predicted addresses of production
abstract contract Deployment is Genesis {
    Stake internal stake;
    Escrow internal escrow;
    Court internal court;
    Vouchers internal vouchers;
    Rewards internal rewards;

    function deployMarket() internal override {
        address escrowAt = predicted(ESCROW);
        stake = new Stake(token, parameters, Escrow(escrowAt), predicted(COURT), predicted(REWARDS));
        escrow = new Escrow(token, parameters, stake, Court(predicted(COURT)), predicted(VOUCHERS));
        court = new Court(parameters, stake, escrow, predicted(REWARDS));
        vouchers = new Vouchers(escrow, parameters);
        rewards = new Rewards(token, parameters, stake, court);
        require(
            address(stake) == predicted(STAKE) && address(escrow) == escrowAt && address(court) == predicted(COURT)
                && address(vouchers) == predicted(VOUCHERS) && address(rewards) == predicted(REWARDS),
            "an address is not as predicted"
        );
    }
}
