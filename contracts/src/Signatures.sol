// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// @title Whether an account has signed a digest
library Signatures {
    /// @notice True if the key of `signer` has signed `digest`.
    /// @dev Malleable signatures are refused, and nothing is ever signed by the zero address.
    function byKey(address signer, bytes32 digest, bytes calldata signature) internal pure returns (bool) {
        // The third value only details the failure.
        // slither-disable-next-line unused-return
        (address recovered, ECDSA.RecoverError failure,) = ECDSA.tryRecoverCalldata(digest, signature);
        return failure == ECDSA.RecoverError.NoError && recovered == signer;
    }

    /// @notice True if `signer` has signed `digest` by its key, or says so as a contract wallet (ERC-1271).
    /// @dev The key comes first: an account that was given code later keeps the signatures it gave before. A wallet
    /// is asked by a static call, so that it can change nothing meanwhile.
    function byAccount(address signer, bytes32 digest, bytes calldata signature) internal view returns (bool) {
        if (byKey(signer, digest, signature)) return true;
        if (signer.code.length == 0) return false;
        return SignatureChecker.isValidERC1271SignatureNowCalldata(signer, digest, signature);
    }
}
