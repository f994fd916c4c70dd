/**
 * A session in the relay: its device, its bridge and its viewers, and the transcoder that is reserved for them. Source:
 * calls-and-media.md, Legs and Resolution.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Result, fail, succeed } from '../../lib/result.ts';
import type { CallMedia } from '../../model/call.ts';
import type { ReservationRefusal, MediaFrameResult } from '../../model/media/picture.ts';
import type { MediaView } from '../../protocol/media-link/media-values.ts';
import type { SoundShape } from '../../model/media/sound.ts';
import {
  type DeviceOutput,
  type JoinedLeg,
  type LegOutput,
  type LiveOutput,
  type PictureOutput,
  sendQueueOf,
  type OutgoingMessage,
  type ViewerOutput,
} from './send-queue.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { isPictureCall, needsPictures, type ReservationDeps } from './transcoder-reservation.ts';
import { BridgeUplink } from './bridge-uplink.ts';
import { Direction, type DirectionDeps } from './direction.ts';
import { FrameTally, StreamMeter } from './session-stats.ts';
import { KeyFrameRequest } from './source-video.ts';
import { Receiver, type ReceiverKind, cameraReceiver, nothingTaken, takingsOf } from './receiver.ts';
import { Viewers } from './viewers.ts';
import { soundOfCall, soundSent, soundTaken } from './call-sound.ts';

export interface RelayDeps extends ReservationDeps {
  readonly telemetry: MediaTelemetry;
}

interface Device {
  readonly receiver: Receiver;
  readonly out: Partial<LegOutput>;
  sound(): SoundShape | null;
  readonly keyFrames: KeyFrameRequest;
}

const isPresent = (receiver: Receiver | undefined): receiver is Receiver => receiver !== undefined;

export class Room {
  /** Application of its device; empty: none has connected yet. */
  application = '';
  readonly #clock: Clock;
  readonly #tally: FrameTally;
  readonly #downlink: Direction;
  readonly #uplink: Direction;
  readonly #output: StreamMeter;
  readonly #emptied: () => void;
  #media: CallMedia | null = null;
  #takings = nothingTaken;
  #device: Device | null = null;
  #bridge: KeyFrameRequest | null = null;
  #bridgeUplink: BridgeUplink | null = null;
  readonly #viewers = new Viewers({
    changed: () => this.#changed(),
    wantKeyFrame: (receiver) => this.#downlink.video.wantKeyFrameFor(receiver),
  });

  constructor(deps: RelayDeps & DirectionDeps, emptied: () => void) {
    this.#clock = deps.clock;
    this.#emptied = emptied;
    this.#tally = new FrameTally(deps.telemetry);
    this.#output = new StreamMeter(deps.clock);
    this.#downlink = new Direction(deps, this.#tally, {
      wantKeyFrame: () => this.#bridge?.want(),
      framesDropped: (cause) => this.#bridgeUplink?.framesDropped(cause),
      endCall: this.#endCall,
      sound: () => soundOfCall(this.#media),
    });
    this.#uplink = new Direction(deps, this.#tally, {
      wantKeyFrame: () => this.#device?.keyFrames.want(),
      endCall: this.#endCall,
      sound: () => soundSent(this.#device?.sound() ?? null, soundOfCall(this.#media)),
    });
  }

  view(): MediaView | null {
    if (this.#media === null) return null;
    return {
      mode: this.#media.resolution,
      hasDevice: this.#device !== null,
      hasBridge: this.#bridge !== null,
      viewers: this.#viewers.count,
      source: this.#downlink.video.source.view(),
      output: this.#output.view(),
      camera: this.#uplink.video.source.view(),
      ...this.#tally.view(),
    };
  }

  refusalOf(media: CallMedia, takes: DeviceOutput['takes']): ReservationRefusal | null {
    return needsPictures(media, takes) ? this.#downlink.video.reservation.refusalOf(media) : null;
  }

  joinDevice(media: CallMedia, out: DeviceOutput): Result<JoinedLeg, ReservationRefusal> {
    const refusal = this.#admit(media, out.takes);
    if (refusal !== null) return fail(refusal);
    const sendQueue = sendQueueOf(out, this.#recordDeviceResult);
    const sound = () => soundTaken(out, soundOfCall(this.#media));
    const receiver = new Receiver(
      { kind: out.takes, isLeg: true, sendQueue, acceptedSound: sound },
      this.#takings[out.takes],
    );
    const own: Partial<LegOutput> = out.takes === 'frames' ? out : {};
    const device = { receiver, sound, keyFrames: this.#keyFramesBy(() => own.askKeyFrame?.()), out: own };
    this.#device?.receiver.sendQueue.close();
    this.#device?.keyFrames.close();
    this.#device = device;
    this.#changed();
    this.#uplink.video.reservation.pipeline?.requireKey();
    this.#bridge?.want();
    return succeed({
      frame: (header, payload, headerBytes) => {
        if (this.#device === device) this.#uplink.receive(device.keyFrames, header, payload, headerBytes);
      },
      wants: () => undefined,
      wantKeyFrame: () => {
        if (this.#device === device) this.#downlink.video.wantKeyFrameFor(receiver);
      },
      wantMaxFps: (maxFps) => {
        if (this.#device === device) this.#bridgeUplink?.out.askMaxFps?.(maxFps);
      },
      leave: () => {
        if (this.#device !== device) return;
        this.#device = null;
        device.keyFrames.close();
        sendQueue.close();
        this.#changed();
      },
    });
  }

  joinBridge(media: CallMedia, out: LegOutput): Result<JoinedLeg, ReservationRefusal> {
    const refusal = this.#admit(media, 'frames');
    if (refusal !== null) return fail(refusal);
    const uplink = new BridgeUplink(out, sendQueueOf(out, this.#recordResult));
    const bridge = this.#keyFramesBy(() => out.askKeyFrame());
    this.#uplink.video.leg?.sendQueue.close();
    this.#bridge?.close();
    this.#bridge = bridge;
    this.#bridgeUplink = uplink;
    this.#changed();
    this.#downlink.video.reservation.pipeline?.requireKey();
    if (this.#downlink.video.receivers.length > 0) bridge.want();
    this.#device?.keyFrames.want();
    return succeed({
      frame: (header, payload, headerBytes) => {
        if (this.#bridge === bridge) this.#downlink.receive(bridge, header, payload, headerBytes);
      },
      wants: (wish) => {
        if (this.#bridge !== bridge) return;
        uplink.wants(wish);
        this.#changed();
      },
      wantKeyFrame: () => {
        if (this.#bridge === bridge) this.#uplink.video.wantKeyFrameFor(uplink.receiver);
      },
      wantMaxFps: () => undefined,
      leave: () => {
        if (this.#bridge !== bridge) return;
        this.#bridge = this.#bridgeUplink = null;
        bridge.close();
        uplink.receiver.sendQueue.close();
        this.#changed();
      },
    });
  }

  watch(what: 'output' | 'source', out: PictureOutput): Result<JoinedLeg, ReservationRefusal> {
    const refusal = this.#media === null ? null : this.#downlink.video.reservation.reserve(this.#media);
    if (refusal !== null) return fail(refusal);
    return succeed(this.#viewers.join([this.#viewing(what === 'output' ? 'pictures' : 'source', out)]));
  }

  /** Pictures are made for it only while there is capacity; most of its video passes untouched. */
  watchLive({ source, output, camera }: LiveOutput): JoinedLeg {
    return this.#viewers.join(
      [this.#viewing('live_source', source), this.#viewing('live_output', output)],
      cameraReceiver(camera, sendQueueOf(camera, this.#recordResult)),
    );
  }

  #viewing(kind: ReceiverKind, out: ViewerOutput): Receiver {
    const sendQueue = sendQueueOf(out, this.#recordResult);
    const acceptedSound = () => soundTaken(out, soundOfCall(this.#media));
    return new Receiver({ kind, isLeg: false, sendQueue, acceptedSound }, this.#takings[kind]);
  }

  /** Admits a leg of a call with this media, which becomes the media of the session. */
  #admit(media: CallMedia, takes: DeviceOutput['takes']): ReservationRefusal | null {
    const isNeeded = needsPictures(media, takes);
    const refusal =
      isNeeded || this.#viewers.needJpegs ? this.#downlink.video.reservation.reserve(media) : null;
    if (isNeeded && refusal !== null) {
      this.#changed();
      return refusal;
    }
    if (isDeepStrictEqual(this.#media, media)) return null;
    this.#media = media;
    this.#takings = takingsOf(media);
    for (const receiver of this.#downlink.video.receivers) receiver.taking = this.#takings[receiver.kind];
    return null;
  }

  #changed(): void {
    const [down, up] = [this.#downlink.video, this.#uplink.video];
    down.receivers = [this.#device?.receiver, ...this.#viewers.receivers].filter(isPresent);
    up.receivers = [this.#bridgeUplink?.receiver, ...this.#viewers.cameras].filter(isPresent);
    if (!this.#needsPictures() && !down.isPictured) down.reservation.release();
    if (this.#device === null || !up.isPictured) up.reservation.release();
    if (down.receivers.length > 0 || this.#bridge !== null) return;
    for (const { sound } of [this.#downlink, this.#uplink]) sound.close();
    this.#emptied();
  }

  readonly #endCall = (): void => (this.#bridgeUplink?.out ?? this.#device?.out)?.endCall?.();

  #needsPictures(): boolean {
    if (this.#viewers.needJpegs || this.#device?.receiver.kind === 'pictures') return true;
    const hasLeg = this.#device !== null || this.#bridge !== null;
    return hasLeg && this.#media !== null && isPictureCall(this.#media);
  }

  #keyFramesBy(ask: () => void): KeyFrameRequest {
    return new KeyFrameRequest(this.#clock, () => {
      this.#tally.keyFrameAsked();
      ask();
    });
  }

  readonly #recordResult = (message: OutgoingMessage, result: MediaFrameResult): void => {
    if (message.isCounted) this.#tally.frame(result);
  };

  readonly #recordDeviceResult = (message: OutgoingMessage, result: MediaFrameResult): void => {
    this.#recordResult(message, result);
    if (message.kind === 'video' && result === message.done)
      this.#output.add(message.format, message.size, message.payload.length);
  };
}
