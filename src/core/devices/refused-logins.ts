/**
 * Refused logins, with the reason that the device never reads, and devices whose sessions keep replacing each other: for
 * operators, in memory only and since the start of the core. A row for each device, port and reason counts its repeats. Strangers
 * can make up ids without end, so rows of ids that the registry does not have push out their own kind alone, those of one address first.
 * Source: docs/running.md, Refused logins.
 */
import type { Clock } from '../../lib/clock.ts';
import { addressKey, plainAddress } from '../../lib/connections/address-key.ts';
import type { Log } from '../../lib/log.ts';
import { RefusalLine } from '../../lib/throttle.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import { loginRefusals, type LoginRefusal, type LoginTrouble } from '../../model/connectivity.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import {
  refusalLogMs,
  refusedLoginsMax,
  refusedLoginsPerApplicationMax,
  unknownLoginsMax,
  unknownLoginsPerAddressMax,
} from '../../model/limits.ts';
import type { Device } from '../../model/registry.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { RecentByOwner } from '../requests/recent-by-owner.ts';

export interface RefusedLoginsDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly telemetry: Pick<Telemetry, 'refusedLogin'>;
  readonly registry: Pick<RegistryReader, 'findProduct' | 'peekDevice'>;
}

export interface Refusal {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly reason: LoginRefusal;
  /** Of the peer; empty: it is gone already. */
  readonly address: string;
}

/** The refused logins of one device at one port for one reason; of a conflict, the replaced sessions. */
export interface RefusedLogin {
  readonly deviceId: DeviceId;
  /** The first application of the device's product; null: none, or the device is unknown. */
  readonly appId: ApplicationId | null;
  readonly connection: ConnectionKind;
  readonly reason: LoginTrouble;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** The latest two, the latest last. */
  readonly addresses: readonly string[];
}

export interface RefusedFilter {
  readonly deviceId?: DeviceId | undefined;
  readonly connection?: ConnectionKind | undefined;
  readonly reason?: LoginTrouble | undefined;
}

const addressesMax = 2;

export class RefusedLogins {
  readonly #deps: RefusedLoginsDeps;
  readonly #ofDevices = new RecentByOwner<string, RefusedLogin>({
    max: refusedLoginsMax,
    ofOwnerMax: refusedLoginsPerApplicationMax,
  });
  readonly #ofUnknownIds = new RecentByOwner<string, RefusedLogin>({
    max: unknownLoginsMax,
    ofOwnerMax: unknownLoginsPerAddressMax,
  });
  readonly #lines: Readonly<Record<LoginRefusal, RefusalLine>>;

  constructor(deps: RefusedLoginsDeps) {
    this.#deps = deps;
    const line = (): RefusalLine => new RefusalLine(deps.clock, deps.log, 'login refused', refusalLogMs);
    this.#lines = Object.fromEntries(loginRefusals.map((reason) => [reason, line()])) as Record<
      LoginRefusal,
      RefusalLine
    >;
  }

  /** Rows that were dropped for want of room. */
  get forgotten(): number {
    return this.#ofDevices.forgotten + this.#ofUnknownIds.forgotten;
  }

  /** `device` null: the registry does not have it. Never throws; about a microsecond. */
  record({ connection, deviceId, reason, address }: Refusal, device: Device | null): void {
    this.#deps.telemetry.refusedLogin(reason);
    const from = plainAddress(address);
    this.#lines[reason].record(() => ({
      reason,
      connection,
      from,
      // An id that the registry does not have is a stranger's text: it gets into no log.
      ...(device !== null && { device_id: deviceId }),
    }));
    this.#count({ connection, deviceId, reason, count: 1, addresses: [from] }, device);
  }

  /** `addresses`: of the peers that replaced each other, the latest last. Never throws. */
  recordConflict(
    connection: ConnectionKind,
    deviceId: DeviceId,
    count: number,
    addresses: readonly string[],
  ): void {
    const device = this.#read((registry) => registry.peekDevice(deviceId));
    this.#count({ connection, deviceId, reason: 'conflict', count, addresses }, device);
  }

  /** The latest first. */
  list({ deviceId, connection, reason }: RefusedFilter): readonly RefusedLogin[] {
    return [...this.#ofDevices.items(), ...this.#ofUnknownIds.items()]
      .filter(
        (row) =>
          (deviceId === undefined || row.deviceId === deviceId) &&
          (connection === undefined || row.connection === connection) &&
          (reason === undefined || row.reason === reason),
      )
      .sort((one, other) => other.lastAtMs - one.lastAtMs);
  }

  #count(
    {
      count,
      addresses,
      ...refused
    }: Pick<RefusedLogin, 'connection' | 'deviceId' | 'reason' | 'count' | 'addresses'>,
    device: Device | null,
  ): void {
    const nowMs = this.#deps.clock.wallMs();
    const kept = device === null ? this.#ofUnknownIds : this.#ofDevices;
    const product = device && this.#read((registry) => registry.findProduct(device.productId));
    const appId = product?.appIds[0] ?? null;
    const owner = device === null ? addressKey(addresses.at(-1) ?? '') : (appId ?? device.productId);
    const key = `${refused.connection} ${refused.reason} ${refused.deviceId}`;
    const before = kept.find(owner, key);
    kept.put(owner, key, {
      ...refused,
      appId,
      count: (before?.count ?? 0) + count,
      firstAtMs: before?.firstAtMs ?? nowMs,
      lastAtMs: nowMs,
      addresses: latestOf([...(before?.addresses ?? []), ...addresses]),
    });
  }

  /** Null also where the store cannot be read: a trace changes no answer. */
  #read<Entry>(find: (registry: RefusedLoginsDeps['registry']) => Entry | null): Entry | null {
    try {
      return find(this.#deps.registry);
    } catch {
      return null;
    }
  }
}

function latestOf(addresses: readonly string[]): readonly string[] {
  const known = addresses.filter((address, at) => address !== '' && addresses.lastIndexOf(address) === at);
  return known.slice(-addressesMax);
}
