/**
 * A bridge played in software, over its calls: it stands idle, takes the call it is given, and connects again after it. A call
 * whose connection is lost is over for it. Source: calls-and-media.md, Legs.
 */
import { legCloses } from '../../protocol/media/leg-text.ts';
import { ConnectionGone } from '../simulator/awaited-items.ts';
import {
  requestInWords,
  BridgeLeg,
  type BridgeLegAccess,
  type StartText,
  LegRefused,
  type LegClosed,
} from '../simulator/media-leg.ts';
import { CommandError, reveilleCommand } from '../../cli/shell/command-error.ts';
import { explainConnectionFailure } from '../../cli/shell/connection-failure.ts';
import { sayTrouble, SimulatedCall, type CallDeps } from './simulated-call.ts';
import { pauseUnless, type CommandContext } from '../../cli/shell/command-context.ts';
import type { OpsClient } from '../../cli/admin/ops-client.ts';
import { randomBytes } from 'node:crypto';

export interface BridgeDeps extends CallDeps, Pick<BridgeLegAccess, 'url' | 'tls' | 'key' | 'counts'> {}

/** Before it connects again, doubling from the least to the most. */
const comeBackMsMin = 250;
const comeBackMsMax = 30_000;
/** A call that was hung up is to end within it; then the connection is cut. */
const partingMsMax = 2000;

export class SimulatedBridge {
  readonly #deps: BridgeDeps;
  readonly #session: string | null;
  readonly #callsMax: number;
  #leg: BridgeLeg | null = null;
  #call: SimulatedCall | null = null;
  #callsDone = 0;
  #hasBeenLetIn = false;
  /** Connections in a row that failed, or had no call. */
  #failures = 0;
  readonly #stop = new AbortController();

  /**
   * `session`: the one call that it comes for; null: it stands idle, and takes one call after the other, up to `callsMax`, until
   * it is stopped.
   */
  constructor(deps: BridgeDeps, session: string | null, callsMax = session === null ? Infinity : 1) {
    this.#deps = deps;
    this.#session = session;
    this.#callsMax = callsMax;
  }

  get callsDone(): number {
    return this.#callsDone;
  }

  /** Resolves when it has had its calls, or was stopped. Rejects with a CommandError when it is not let in. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && this.#callsDone < this.#callsMax) {
      const leg = await this.#connect();
      if (leg !== null) await this.#attend(leg);
      if (this.#failures === 0) continue;
      const delayMs = Math.min(comeBackMsMax, comeBackMsMin * 2 ** Math.min(this.#failures - 1, 30));
      await pauseUnless(this.#deps.clock, delayMs, signal);
    }
  }

  /** Hangs up. */
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

  /** Null: not now, or not any more. */
  async #connect(): Promise<BridgeLeg | null> {
    try {
      const { url, tls, key, counts } = this.#deps;
      const onKeyFrameWanted = (): void => this.#wantKeyFrame();
      const session = this.#session ?? undefined;
      const leg = await BridgeLeg.connect({ url, tls, key, counts, session, onKeyFrameWanted });
      this.#hasBeenLetIn = true;
      if (!this.#stop.signal.aborted) return leg;
      await leg.close();
      return null;
    } catch (error) {
      if (!this.#mayTryAgain(error)) throw notLetIn(error as Error);
      this.#failures += 1;
      sayTrouble(this.#deps.say, `${(error as Error).message}; trying again`);
      return null;
    }
  }

  #wantKeyFrame(): void {
    this.#deps.say('key_frame_wanted', {}, 'a key frame is wanted');
    this.#call?.wantKeyFrame();
  }

  /** The first attempt says whether it was asked for rightly; who was let in once comes again. */
  #mayTryAgain(error: unknown): boolean {
    return this.#hasBeenLetIn && (!(error instanceof LegRefused) || error.status === 503);
  }

  /** To the leg's end. */
  async #attend(leg: BridgeLeg): Promise<void> {
    this.#leg = leg;
    try {
      this.#call = await this.#callOf(leg);
      this.#failures = 0;
      await this.#call.attend();
    } catch (error) {
      // The leg may be closed before there is a call for it.
      if (!(error instanceof ConnectionGone)) {
        await leg.terminate();
        throw error;
      }
    } finally {
      this.#call?.end();
    }
    this.#leg = null;
    this.#part(await leg.closed);
  }

  /** The call that it is told to start. Rejects with ConnectionGone. */
  async #callOf(leg: BridgeLeg): Promise<SimulatedCall> {
    const { say } = this.#deps;
    const named = this.#session;
    say('connected', { session: named }, named === null ? 'connected, and idle' : `connected for ${named}`);
    const { assign, start } =
      named === null
        ? await leg.acceptAssignment()
        : { assign: { session: named }, start: await leg.next<StartText>('start') };
    const { session } = assign;
    const { request, audio, room } = start;
    const json = { session, request, audio, room: { room_id: room.room_id } };
    say('start', json, `call ${session}: asked for ${requestInWords(start)}`);
    return new SimulatedCall(this.#deps, session, start, leg);
  }

  #part({ code, reason }: LegClosed): void {
    const { say } = this.#deps;
    const said = `closed with ${code} ${reason}`.trimEnd();
    say('closed', { code, reason }, said);
    if (code === legCloses.revoked.code)
      throw new CommandError('the key of this bridge has been revoked', 'name another with --key');
    if (this.#call === null) return void (this.#failures += 1);
    const { session } = this.#call;
    this.#call = null;
    this.#callsDone += 1;
    say('call_over', { session }, `the call ${session} is over: ${said}`);
  }
}

function notLetIn(error: Error): CommandError {
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

/** The one that was named, else the first development key of the settings. Throws a CommandError where there is none. */
export function findBridgeKey({ settings }: CommandContext, named: string | undefined): string {
  const key = named ?? settings.media.bridge_keys[0];
  if (key !== undefined) return key;
  throw new CommandError(
    'no key of a bridge is known: neither --key nor REVEILLE_MEDIA_BRIDGE_KEYS',
    keyAdvice,
  );
}

/** A bridge that a command adds to the registry of a running server for itself, and removes again. */
export interface TemporaryBridge {
  readonly bridgeId: string;
  readonly key: string;
  remove(): Promise<void>;
}

/** `appId`: of the application whose calls it may take. Rejects with a CommandError. */
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
