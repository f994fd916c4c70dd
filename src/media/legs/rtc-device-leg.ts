/**
 * A device leg over WebRTC: H.264 and sound by RTP both ways, fitted pictures and commands over data channels. The relay and the leg
 * service treat it like a WebSocket leg. Lifecycle: opening -> open -> closed. Source: RFC 9725; calls-and-media.md, Legs.
 */
import type { CallState, LegMessage, LegRefusal } from '../../model/call.ts';
import type { AudioFrameFormat, SoundShape } from '../../model/media/sound.ts';
import { encodeFrameHeader, type FrameHeader } from '../../protocol/media/frame-header.ts';
import { rtcCommands } from '../../protocol/media/rtc-commands.ts';
import type { CallLeg, DeviceAdmission, OpenDeviceLeg } from '../../core/ports/leg-service.ts';
import type { LegOutput } from '../relay/send-queue.ts';
import type { RtcPeer } from '../webrtc/rtc-peer.ts';
import type { RtcLeg } from './rtc-endpoint.ts';
import { OpenRtcLeg, readHeader, type RtcLegDeps } from './open-rtc-leg.ts';
import { FrameRateWish } from './frame-rate-wish.ts';

export class RtcDeviceLeg
  extends OpenRtcLeg<DeviceAdmission, OpenDeviceLeg>
  implements RtcLeg, CallLeg, LegOutput
{
  readonly takes = 'frames';
  readonly #frameRate: FrameRateWish;
  #peer: RtcPeer | null = null;
  #isConnected = false;
  #state: CallState = 'establishing';

  constructor(deps: RtcLegDeps<DeviceAdmission>) {
    super(deps);
    this.#frameRate = new FrameRateWish(deps.context.clock, (maxFps) =>
      this.opened?.joined.wantMaxFps(maxFps),
    );
  }

  /** The sound that the device accepts, whatever was agreed for the call. */
  get sound(): SoundShape | null {
    return this.#peer?.agreed.audioDown ?? null;
  }

  /** Replaces the device's previous leg. */
  enter(peer: RtcPeer): LegRefusal | null {
    const { admission, service, context } = this.deps;
    if (this.isClosed) return 'unavailable';
    this.#peer = peer;
    const side = service.openDeviceLeg(admission, this);
    if (side === null || this.isClosed) return 'session_ended';
    const joined = context.relay.joinDevice(admission.sessionId, admission.media, this, admission.appId);
    if (!joined.ok) {
      this.close();
      side.disconnected();
      return joined.error;
    }
    this.begin({ peer, side, joined: joined.value });
    return null;
  }

  notify(message: LegMessage): void {
    if (message.kind !== 'state') return;
    this.#state = message.state;
    if (message.state === 'connected' || message.state === 'ended') this.#sendState();
  }

  hangUp(): void {
    this.opened?.side.report({ kind: 'end', reason: 'hangup_device' });
    this.end();
  }

  /** ICE checks the consent of the peer: one that is still connected has given it. */
  heartbeat(): void {
    if (this.#isConnected) this.opened?.side.alive('ping');
  }

  send(header: Uint8Array, payload: Uint8Array, sent: () => void): void {
    const decoded = this.#isConnected ? readHeader(header, payload) : null;
    const done = (): void => queueMicrotask(sent);
    if (decoded === null || this.#peer === null) return done();
    const { agreed } = this.#peer;
    const { format, timestampMs } = decoded;
    if (decoded.kind === 'audio' && format === agreed.audioDown?.format) {
      this.#peer.sendAudio(payload, timestampMs);
      done();
    } else if (format === 'h264' && agreed.videoDown) {
      this.#frameRate.sent(payload.length);
      this.#peer.sendVideo(payload, timestampMs, done);
    } else if (format === 'mjpeg' && agreed.pictures) this.#peer.sendPicture(payload, done);
    else return done();
    this.#reportConnected();
  }

  askKeyFrame(): void {
    this.#peer?.askKeyFrame();
  }

  endCall(): void {
    this.opened?.side.report({ kind: 'end', reason: 'error' });
  }

  connected(): void {
    this.#isConnected = true;
    if (this.#state === 'connected') this.#sendState();
  }

  video(accessUnit: Uint8Array<ArrayBuffer>, isKey: boolean, timestampMs: number): void {
    const size = { width: 0, height: 0 };
    this.#receive({ kind: 'video', format: 'h264', isKeyFrame: isKey, ...size, timestampMs }, accessUnit);
  }

  audio(format: AudioFrameFormat, packet: Uint8Array<ArrayBuffer>, timestampMs: number): void {
    this.#receive({ kind: 'audio', format, timestampMs }, packet);
  }

  command(command: number): void {
    if (command === rtcCommands.hangup) this.hangUp();
  }

  keyFrameWanted(): void {
    this.opened?.joined.wantKeyFrame();
  }

  bitrate(bitsPerSecond: number): void {
    this.#frameRate.allow(bitsPerSecond);
  }

  /** True: the peer accepts no media, and a bridge receives what it sends. */
  #isReceived({ agreed }: RtcPeer): boolean {
    if (agreed.audioDown !== null || agreed.videoDown || agreed.pictures) return false;
    const { admission, context } = this.deps;
    return context.relay.view(admission.sessionId)?.hasBridge === true;
  }

  /** Media flows, so the call is connected, even if no side has reported it. */
  #reportConnected(): void {
    const { opened } = this;
    if (this.#state === 'connected' || opened === null) return;
    this.#state = 'connected';
    opened.side.report({ kind: 'progress', state: 'connected' });
    this.#sendState();
  }

  #sendState(): void {
    if (this.#isConnected)
      this.#peer?.sendCommand(rtcCommands[this.#state === 'ended' ? 'hangup' : 'connected']);
  }

  #receive(header: FrameHeader, payload: Uint8Array<ArrayBuffer>): void {
    const { opened } = this;
    if (opened === null) return;
    opened.side.alive('media');
    opened.joined.frame(header, payload, encodeFrameHeader(header));
    if (this.#state !== 'connected' && this.#isReceived(opened.peer)) this.#reportConnected();
  }
}
