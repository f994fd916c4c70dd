/** The leg service with a real directory, pool and tokens, a registry in memory, and the legs that connect. */
import { BridgePool } from '../../src/core/calls/bridge-pool.ts';
import { signCallToken, type CallTokenClaims } from '../../src/protocol/call-token/call-token.ts';
import { TokenKeys } from '../../src/protocol/call-token/token-keys.ts';
import type { Result } from '../../src/lib/result.ts';
import type { CallOrder } from '../../src/model/call.ts';
import type { BridgeId, SessionId, TokenId } from '../../src/model/ids.ts';
import type { Bridge } from '../../src/model/registry.ts';
import { hashBridgeKey } from '../../src/model/registry.ts';
import { LocalLegService } from '../../src/core/calls/local-leg-service.ts';
import { ViewerTickets } from '../../src/core/calls/viewers.ts';
import type {
  AdmissionRefusal,
  OpenBridgeLeg,
  OpenDeviceLeg,
  OpenViewer,
} from '../../src/core/ports/leg-service.ts';
import { callsHere, type CallLocator } from '../../src/core/ports/call-locator.ts';
import { newKey } from './call-tokens.ts';
import { CallScene } from './call-scene.ts';
import { FakeCallLeg, FakeLog, FakePlacement, FakeRegistry, testApp } from './fakes.ts';

const keys = new TokenKeys([newKey]);

export const bridgeKey = 'key of bridge-1';
export const developmentKeys = ['a development key', 'another one'];

export class LegServiceScene extends CallScene {
  readonly registry = new FakeRegistry();
  readonly log = new FakeLog();
  readonly keys = keys;
  readonly developmentKeys = developmentKeys;
  readonly maxFps = 15;
  readonly callLocator: CallLocator = { ...callsHere };
  readonly tickets = new ViewerTickets(this.clock);
  pool: BridgePool;
  service: LocalLegService;
  #tokenIds = 0;

  constructor() {
    super();
    this.addBridge({});
    this.pool = this.#newPool();
    this.service = new LocalLegService(this);
  }

  /** The new core has not adopted its pool yet. */
  override restart(downMs = 0): void {
    super.restart(downMs);
    this.pool = this.#newPool();
    this.service = new LocalLegService(this);
  }

  #newPool(): BridgePool {
    const { clock, telemetry, log, directory } = this;
    const placement = new FakePlacement();
    const pool = new BridgePool({ clock, telemetry, log, placement, directory, assign: 'issuance' });
    directory.follow(pool);
    return pool;
  }

  /** Adds `bridge-1` of the test's application with `bridgeKey`, unless `change` overrides it. */
  addBridge({ key = bridgeKey, ...change }: Partial<Bridge> & { readonly key?: string }): void {
    const bridge: Bridge = {
      bridgeId: 'bridge-1' as BridgeId,
      keySha256: hashBridgeKey(key),
      appIds: [testApp],
      revoked: false,
      ...change,
    };
    this.removeBridge(bridge.bridgeId);
    this.registry.bridges.push(bridge);
  }

  removeBridge(bridgeId: string): void {
    const index = this.registry.bridges.findIndex((known) => known.bridgeId === bridgeId);
    if (index !== -1) this.registry.bridges.splice(index, 1);
  }

  token(sessionId: SessionId, change: Partial<CallTokenClaims> = {}): string {
    const session = this.directory.find(sessionId);
    if (session === null) throw new Error('no such session');
    this.#tokenIds += 1;
    return signCallToken(keys, {
      deviceId: session.deviceId,
      sessionId,
      tokenId: `issued-token-${this.#tokenIds}` as TokenId,
      issuedAtS: Math.floor(this.clock.wallMs() / 1000),
      expiresAtS: session.expiresAtMs / 1000,
      ...change,
    });
  }

  async newCall(order?: CallOrder): Promise<{ readonly call: SessionId; readonly token: string }> {
    const call = this.issue(order);
    return { call, token: this.token(call) };
  }

  async openDevice(token: string): Promise<Opened<OpenDeviceLeg>> {
    const leg = new FakeCallLeg();
    const open = this.service.openDeviceLeg(admitted(await this.service.admitDevice(token)), leg);
    return { leg, open: opened(open) };
  }

  async openBridge(session: SessionId | null = null, key = bridgeKey): Promise<Opened<OpenBridgeLeg>> {
    const leg = new FakeCallLeg();
    const open = this.service.openBridgeLeg(admitted(await this.service.admitBridge(key, session)), leg);
    return { leg, open: opened(open) };
  }

  async openViewer(session: SessionId): Promise<Opened<OpenViewer>> {
    const leg = new FakeCallLeg();
    const open = this.service.openViewer(admitted(await this.service.admitViewer(this.ticket(session))), leg);
    return { leg, open: opened(open) };
  }

  ticket(session: SessionId): string {
    const issued = this.tickets.issue(session);
    if (issued === null) throw new Error('there are too many tickets');
    return issued.ticket;
  }
}

export interface Opened<Leg> {
  readonly leg: FakeCallLeg;
  readonly open: Leg;
}

/** The admission. Fails if it was refused. */
export function admitted<Admission>(outcome: Result<Admission, AdmissionRefusal>): Admission {
  if (!outcome.ok) throw new Error(`the leg was refused: ${JSON.stringify(outcome.error)}`);
  return outcome.value;
}

function opened<Leg>(leg: Leg | null): Leg {
  if (leg === null) throw new Error('the leg was not opened');
  return leg;
}

/** Reason of the refusal; null: admitted. */
export async function refusal(
  admission: Promise<Result<unknown, AdmissionRefusal>>,
): Promise<AdmissionRefusal | null> {
  const outcome = await admission;
  return outcome.ok ? null : outcome.error;
}
