/**
 * A bridge in software: stands idle, accepts the assigned call, and reconnects after it. A lost connection ends its call.
 * Source: calls-and-media.md, Legs.
 */
import { legCloses } from '../../protocol/media/leg-text.ts';
import { ConnectionGone } from '../simulator/awaited-items.ts';
import {
  requestInWords,
  BridgeLeg,
  type BridgeLegAccess,
  type StartText,
  LegRefused,
} from '../simulator/media-leg.ts';
import type { SocketClosed } from '../simulator/opened-socket.ts';
import { CommandError, reveilleCommand } from '../../cli/shell/command-error.ts';
import { explainConnectionFailure } from '../../cli/shell/connection-failure.ts';
import { reportTrouble, SimulatedCall, type CallDeps } from './simulated-call.ts';
import { pauseUnless, type CommandContext } from '../../cli/shell/command-context.ts';
import type { OpsClient } from '../../cli/admin/ops-client.ts';
import { randomBytes } from 'node:crypto';

export interface BridgeDeps extends CallDeps, Pick<BridgeLegAccess, 'url' | 'tls' | 'key' | 'counts'> {}

/** Reconnect backoff: doubles from the minimum to the maximum. */
const reconnectMsMin = 250;
const reconnectMsMax = 30_000;
/** Maximum time from a hangup to the close of the leg; then it is cut. */
const partingMsMax = 2000;

export class SimulatedBridge {
  readonly #deps: BridgeDeps;
  readonly #session: string | null;
  readonly #callsMax: number;
  #leg: BridgeLeg | null = null;
  #call: SimulatedCall | null = null;
  #callsDone = 0;
  #wasAccepted = false;
  /** Consecutive connections that failed, or ended without a call. */
  #failures = 0;
  readonly #stop = new AbortController();

  /**
   * `session`: the only call to accept; null: any, one after another, up to `callsMax`, until it is stopped.
   */
  constructor(deps: BridgeDeps, session: string | null, callsMax = session === null ? Infinity : 1) {
    this.#deps = deps;
    this.#session = session;
    this.#callsMax = callsMax;
  }

  get callsDone(): number {
    return this.#callsDone;
  }

  /** Resolves after `callsMax` calls, or when stopped. Rejects with a CommandError if the bridge is refused. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && this.#callsDone < this.#callsMax) {
      const leg = await this.#connect();
      if (leg !== null) await this.#attend(leg);
      if (this.#failures === 0) continue;
      const delayMs = Math.min(reconnectMsMax, reconnectMsMin * 2 ** Math.min(this.#failures - 1, 30));
      await pauseUnless(this.#deps.clock, delayMs, signal);
    }
  }

  stop(): void {
    this.#stop.abort();
    const leg = this.#leg;
    if (leg === null) return;
    if (this.#call === null) return void leg.close();
    leg.report('ended', 'hangup_phone');
    this.#call.end();
    const cancel = this.#deps.clock.after(partingMsMax, () => void leg.terminate());
    void leg.closed.then(cancel);
  }

  /** Null: failed temporarily, or stopped. */
  async #connect(): Promise<BridgeLeg | null> {
    try {
      const { url, tls, key, counts } = this.#deps;
      const onKeyFrameWanted = (): void => this.#wantKeyFrame();
      const session = this.#session ?? undefined;
      const leg = await BridgeLeg.connect({ url, tls, key, counts, session, onKeyFrameWanted });
      this.#wasAccepted = true;
      if (!this.#stop.signal.aborted) return leg;
      await leg.close();
      return null;
    } catch (error) {
      if (!this.#mayRetry(error)) throw explainRefusal(error as Error);
      this.#failures += 1;
      reportTrouble(this.#deps.onEvent, `${(error as Error).message}; retrying`);
      return null;
    }
  }

  #wantKeyFrame(): void {
    this.#deps.onEvent('key_frame_wanted', {}, 'a key frame is wanted');
    this.#call?.wantKeyFrame();
  }

  /** A refused first attempt is permanent: wrong key or session. A bridge that was accepted once retries. */
  #mayRetry(error: unknown): boolean {
    return this.#wasAccepted && (!(error instanceof LegRefused) || error.status === 503);
  }

  /** Plays the leg's call; resolves when the leg is closed. */
  async #attend(leg: BridgeLeg): Promise<void> {
    this.#leg = leg;
    try {
      this.#call = await this.#callOf(leg);
      this.#failures = 0;
      await this.#call.attend();
    } catch (error) {
      // An idle leg may close before it gets a call.
      if (!(error instanceof ConnectionGone)) {
        await leg.terminate();
        throw error;
      }
    } finally {
      this.#call?.end();
    }
    this.#leg = null;
    this.#onClosed(await leg.closed);
  }

  /** Awaits the call to play. Rejects with ConnectionGone. */
  async #callOf(leg: BridgeLeg): Promise<SimulatedCall> {
    const { onEvent } = this.#deps;
    const named = this.#session;
    onEvent(
      'connected',
      { session: named },
      named === null ? 'connected, and idle' : `connected for ${named}`,
    );
    const { assign, start } =
      named === null
        ? await leg.acceptAssignment()
        : { assign: { session: named }, start: await leg.next<StartText>('start') };
    const { session } = assign;
    const { request, audio, room } = start;
    const json = { session, request, audio, room: { room_id: room.room_id } };
    onEvent('start', json, `call ${session}: asked for ${requestInWords(start)}`);
    return new SimulatedCall(this.#deps, session, start, leg);
  }

  #onClosed({ code, reason }: SocketClosed): void {
    const { onEvent } = this.#deps;
    const text = `closed with ${code} ${reason}`.trimEnd();
    onEvent('closed', { code, reason }, text);
    if (code === legCloses.revoked.code)
      throw new CommandError('the key of this bridge has been revoked', 'name another with --key');
    if (this.#call === null) return void (this.#failures += 1);
    const { session } = this.#call;
    this.#call = null;
    this.#callsDone += 1;
    onEvent('call_over', { session }, `the call ${session} is over: ${text}`);
  }
}

function explainRefusal(error: Error): CommandError {
  if (!(error instanceof LegRefused)) {
    const { reason, advice } = explainConnectionFailure(error, 'name it with --media host:port');
    return new CommandError(`no media listener answers: ${reason}`, advice);
  }
  if (error.status === 401) return new CommandError(error.message, keyAdvice);
  if (error.status === 404)
    return new CommandError(error.message, `list them: ${reveilleCommand('calls list')}`);
  return new CommandError(error.message);
}

const keyAdvice = `make one: ${reveilleCommand('bridge add bridge-1 --app APP')}, and name its key with --key`;

/** Returns the named key, else the first development key of the settings. Throws a CommandError if there is none. */
export function findBridgeKey({ settings }: CommandContext, named: string | undefined): string {
  const key = named ?? settings.media.bridge_keys[0];
  if (key !== undefined) return key;
  throw new CommandError(
    'no key of a bridge is known: neither --key nor REVEILLE_MEDIA_BRIDGE_KEYS',
    keyAdvice,
  );
}

/** A bridge that a command adds to the registry of a running server for its own use, and removes. */
export interface TemporaryBridge {
  readonly bridgeId: string;
  readonly key: string;
  remove(): Promise<void>;
}

/** `appId`: the application whose calls the bridge may accept. Rejects with a CommandError. */
export async function addTemporaryBridge(
  ops: Pick<OpsClient, 'change'>,
  prefix: string,
  appId: string,
): Promise<TemporaryBridge> {
  const bridgeId = `${prefix}-${randomBytes(3).toString('hex').toUpperCase()}`;
  const body = { bridge_id: bridgeId, app_ids: [appId] };
  const { key } = await ops.change<{ readonly key: string }>('/v1/bridge/add', body);
  const remove = async (): Promise<void> =>
    void (await ops.change('/v1/bridge/remove', { bridge_id: bridgeId }));
  return { bridgeId, key, remove };
}
