/**
 * Whose bearer key it is, and for which applications it is good: bridges of the registry, and the development keys of
 * the settings, which are good for all. Known by their SHA-256 alone, so that looking one up tells nothing by its time.
 * Source: calls-and-media.md, Legs.
 */
import { timingSafeEqual } from 'node:crypto';
import { assert } from '../../lib/assert.ts';
import { parseBridgeId, type ApplicationId, type BridgeId } from '../../model/ids.ts';
import { hashBridgeKey } from '../../model/registry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

export interface BridgeRights {
  readonly bridgeId: BridgeId;
  /** Null: those of every application. */
  readonly appIds: readonly ApplicationId[] | null;
}

export class BridgeKeys {
  readonly #registry: RegistryReader;
  readonly #developmentHashes: readonly Buffer[];

  constructor(registry: RegistryReader, developmentKeys: readonly string[]) {
    this.#registry = registry;
    this.#developmentHashes = developmentKeys.map((key) => Buffer.from(hashBridgeKey(key), 'hex'));
  }

  /** `keySha256`: of `hashBridgeKey`. Null: no key, or a revoked one. Throws when the registry cannot be read. */
  rightsOf(keySha256: string): BridgeRights | null {
    const developer = this.#findDeveloper(keySha256);
    if (developer !== null) return { bridgeId: developer, appIds: null };
    const bridges = this.#registry.findBridges(keySha256).filter(({ revoked }) => !revoked);
    const [bridge] = bridges;
    if (bridge === undefined) return null;
    // Bridges that share a key are one: it cannot tell which of them it is.
    return { bridgeId: bridge.bridgeId, appIds: bridges.flatMap(({ appIds }) => appIds) };
  }

  #findDeveloper(keySha256: string): BridgeId | null {
    const hash = Buffer.from(keySha256, 'hex');
    const matches = this.#developmentHashes.map((known) => timingSafeEqual(known, hash));
    const index = matches.indexOf(true);
    return index === -1 ? null : developmentId(index + 1);
  }
}

export function mayServe({ appIds }: Pick<BridgeRights, 'appIds'>, appId: ApplicationId): boolean {
  return appIds === null || appIds.includes(appId);
}

function developmentId(number: number): BridgeId {
  const id = parseBridgeId(`dev-${number}`);
  assert(id !== null, 'a number makes an id');
  return id;
}
