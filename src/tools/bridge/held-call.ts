/**
 * Holds a call by playing its device leg and, if no bridge accepts the call, a bridge. It ends on a hangup, an interruption or
 * after its duration; then a bridge that was added is removed.
 */
import type { ConnectionOptions } from 'node:tls';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { pauseUnless } from '../../cli/shell/command-context.ts';
import { ConnectionFailedError } from '../../cli/shell/connection-failure.ts';
import { CommandError, reveilleCommand } from '../../cli/shell/command-error.ts';
import { findOpsClient } from '../../cli/admin/running-server.ts';
import { type OpsClient } from '../../cli/admin/ops-client.ts';
import type { CallJson } from '../../gateways/admin/call-routes.ts';
import { pause, completesWithin, type Clock } from '../../lib/clock.ts';
import type { Engine } from '../../media/codec/engine.ts';
import type { Size } from '../../model/call.ts';
import type { PictureFormat } from '../../model/media/picture.ts';
import type { SoundShape } from '../../model/media/sound.ts';
import { BridgePlayback, type FilmShow } from './bridge-playback.ts';
import { filmShow, playingBridge } from './bridge-show.ts';
import { sizeInWords, type CallReport } from './call-report.ts';
import { addTemporaryBridge, type SimulatedBridge } from './simulated-bridge.ts';
import type { UplinkPlan } from './simulated-call.ts';
import { testFilm, type Film } from './test-picture.ts';
import { openTone, type Tone } from './tone.ts';
import { ConnectionGone } from '../simulator/awaited-items.ts';
import { DeviceLeg, LegRefused, type StateText } from '../simulator/media-leg.ts';

export interface IssuedCall {
  readonly deviceId: string;
  readonly session: string;
  readonly token: string;
  readonly url: string;
  readonly tls: ConnectionOptions | undefined;
}

export interface HeldCallDeps {
  readonly context: CommandContext;
  readonly report: CallReport;
  /** Null: no video codec is available. */
  readonly engine: Engine | null;
  readonly openFilm: () => Film;
  /** Key of the bridge to play; undefined: add a bridge to the local server; null: remote server, play none. */
  readonly bridgeKey: string | undefined | null;
  readonly deviceSends: PictureFormat | null;
  readonly deviceSpeaks: SoundShape | null;
  /** Formats in which the played bridge receives the device's media. */
  readonly uplink: UplinkPlan;
}

/** Maximum time from a hangup to the close of the legs; then they are cut. */
const partingMsMax = 2000;
/** Wait for an idle bridge of another process to accept the call. */
const idleBridgeMsMax = 1000;
const askAgainMs = 100;

/** `seconds`: may be Infinity. Rejects with a CommandError if a leg is refused. */
export async function runCall(
  deps: HeldCallDeps,
  call: IssuedCall,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = deps.context;
  const device = await joinDevice(deps, call);
  const cancelProgress = clock.every(1000, () => deps.report.progress());
  try {
    const isTimeUp = pauseUnless(clock, seconds * 1000, signal);
    const ended = Promise.race([device.closed, isTimeUp]);
    await playBridge(deps, call, ended, () => hangUp(clock, device));
  } finally {
    await hangUp(clock, device);
    cancelProgress();
    deps.report.summary(deps.report.hasConnected ? 1 : 0);
  }
}

async function hangUp(clock: Clock, device: DeviceLeg): Promise<void> {
  device.hangup();
  if (!(await completesWithin(clock, partingMsMax, device.closed))) await device.terminate();
}

async function joinDevice(deps: HeldCallDeps, { url, tls, token, session }: IssuedCall): Promise<DeviceLeg> {
  const { report } = deps;
  let playback: BridgePlayback | null = null;
  const onKeyFrameWanted = (): void => playback?.wantKeyFrame();
  const connecting = DeviceLeg.connect({ url, tls, token, counts: report.device.received, onKeyFrameWanted });
  const device = await connecting.catch((error: Error) => {
    if (error instanceof LegRefused) throw new CommandError(error.message);
    const { message, advice } = new ConnectionFailedError(url, error);
    throw new CommandError(message, advice);
  });
  device.accept();
  report.step('device', 'joins with its token, and accepts the call');
  void followStates(report, device, session, () => (playback ??= playDevice(deps, device)));
  void device.closed.then(() => playback?.stop());
  return device;
}

/** Reports the states of the call until the leg closes. */
async function followStates(
  report: CallReport,
  device: DeviceLeg,
  session: string,
  play: () => void,
): Promise<void> {
  try {
    for (;;) {
      const { state, reason } = await device.next<StateText>('state');
      if (state === 'connected') {
        report.connected(session);
        play();
      } else report.step('call', reason === null ? state : `${state}: ${reason}`, { state, reason });
    }
  } catch (error) {
    if (!(error instanceof ConnectionGone)) throw error;
  }
}

async function playBridge(
  deps: HeldCallDeps,
  call: IssuedCall,
  ended: Promise<unknown>,
  hangUp: () => Promise<void>,
): Promise<void> {
  const access = await findBridge(deps, call);
  if (access === null) return void (await ended);
  const bridge = newBridge(deps, call, access.key);
  const playing = bridge.run();
  try {
    await Promise.race([ended, playing]);
  } finally {
    await hangUp();
    bridge.stop();
    await playing.catch(() => undefined);
    await access.remove();
  }
}

interface BridgeAccess {
  readonly key: string;
  remove(): Promise<void>;
}

/** Returns the bridge to play; null: another one has the call, or none may be played. */
async function findBridge(
  { context, report, bridgeKey }: HeldCallDeps,
  call: IssuedCall,
): Promise<BridgeAccess | null> {
  if (bridgeKey !== undefined && bridgeKey !== null) {
    report.step('bridge', 'is played with the key of --key');
    return { key: bridgeKey, remove: () => Promise.resolve() };
  }
  const ops = bridgeKey === null ? null : findOpsClient(context);
  if (ops === null) {
    report.step(
      'bridge',
      `must connect by itself: run ${reveilleCommand('simulate --bridge --key KEY')}, or pass its key with --key`,
    );
    return null;
  }
  const found = await awaitBridge(context.clock, ops, call);
  if (found === null || found.legs.bridge) {
    report.step('bridge', found === null ? 'is not needed: the call has ended' : 'has taken the call');
    return null;
  }
  const added = await addTemporaryBridge(ops, 'SIMULATED-BRIDGE', found.app_id);
  report.step(
    'bridge',
    `no bridge accepts the call: ${added.bridgeId} is added, played, and removed at the end`,
  );
  return added;
}

/** Waits until the call has a bridge, at most `idleBridgeMsMax`. Null: the call has ended. */
async function awaitBridge(
  clock: Clock,
  ops: Pick<OpsClient, 'ask'>,
  { deviceId, session }: IssuedCall,
): Promise<CallJson | null> {
  const untilMs = clock.monotonicMs() + idleBridgeMsMax;
  const query = { device_id: deviceId };
  for (;;) {
    const { calls } = await ops.ask<{ readonly calls: readonly CallJson[] }>('/v1/calls', query);
    const call = calls.find((each) => each.session === session) ?? null;
    if (call === null || call.legs.bridge || clock.monotonicMs() > untilMs) return call;
    await pause(clock, askAgainMs);
  }
}

function newBridge(
  { context: { clock }, report, engine, openFilm, uplink }: HeldCallDeps,
  { url, tls, session }: IssuedCall,
  key: string,
): SimulatedBridge {
  const { sent: tally, received: counts } = report.bridge;
  const plan = { format: 'h264', sizes: [phoneSize], tone: 'requested', openFilm } as const;
  const show = { clock, engine, tally, onEvent: report.reportBridgeEvent, plan };
  return playingBridge({ ...show, url, tls, key, uplink, answerAfterMs: null, counts }, session);
}

/** Plays camera and microphone of the door; null: it has neither. */
function playDevice(deps: HeldCallDeps, device: DeviceLeg): BridgePlayback | null {
  const { context, engine, report, deviceSends, deviceSpeaks } = deps;
  const film = deviceSends === null || engine === null ? null : cameraFilm(engine, report, deviceSends);
  const tone = deviceSpeaks === null ? null : doorTone(deps, deviceSpeaks);
  if (film === null && tone === null) return null;
  return new BridgePlayback(context.clock, { film, tone }, device, report.device.sent);
}

function cameraFilm(engine: Engine, report: CallReport, format: PictureFormat): FilmShow {
  const show = { format, sizes: [cameraSize], openFilm: testFilm };
  report.step('device', `sends ${format} ${sizeInWords(cameraSize)}`, { format });
  return filmShow(engine, show, { ...cameraSize, rotation: 0, max_fps: 15 });
}

function doorTone({ engine, report }: HeldCallDeps, shape: SoundShape): Tone | null {
  const tone = openTone(engine, shape);
  report.step('device', tone.ok ? `sends a tone as ${shape.format}` : `sends no tone: ${tone.error}`);
  return tone.ok ? tone.value : null;
}

const cameraSize: Size = { width: 320, height: 240 };

const phoneSize: Size = { width: 360, height: 640 };
