/**
 * A viewer over WebRTC: in one connection, the phone's video as sent, the device's output, pictures of the device's camera, and sound
 * while the viewer asks for it. Nothing that it sends reaches the call. Lifecycle: opening -> open -> closed. Source: RFC 9725, as WHEP
 * adopts it; calls-and-media.md, Legs.
 */
import type { LegRefusal } from '../../model/call.ts';
import type { SoundShape } from '../../model/media/sound.ts';
import { viewerCommands } from '../../protocol/media/rtc-commands.ts';
import type { CallLeg, OpenViewer, ViewerAdmission } from '../../core/ports/leg-service.ts';
import type { LegOutput } from '../relay/send-queue.ts';
import type { PictureChannel, RtcPeer } from '../webrtc/rtc-peer.ts';
import type { RtcLeg } from './rtc-endpoint.ts';
import { OpenRtcLeg, readHeader } from './open-rtc-leg.ts';

export class RtcViewerLeg extends OpenRtcLeg<ViewerAdmission, OpenViewer> implements RtcLeg, CallLeg {
  #isConnected = false;
  #wantsSound = false;
  #isSendingVideo = false;
  /** Send function of the other stream, which waits while one sends. */
  #nextVideo: (() => void) | null = null;

  /** Messages sent from now on arrive. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** The viewer asked for sound; otherwise none is made for it. */
  get wantsSound(): boolean {
    return this.#wantsSound;
  }

  enter(peer: RtcPeer): LegRefusal | null {
    const { admission, service, context } = this.deps;
    if (this.isClosed) return 'unavailable';
    const side = service.openViewer(admission, this);
    if (side === null || this.isClosed) return 'viewers';
    const joined = context.relay.watchLive(admission.sessionId, {
      source: new ViewedStream(this, peer, 'source'),
      output: new ViewedStream(this, peer, 'pictures'),
      camera: {
        isTaken: () => this.#isConnected && peer.hasChannel('camera'),
        sendPicture: (jpeg, sent) => peer.sendPicture(jpeg, () => queueMicrotask(sent), 'camera'),
      },
    });
    this.begin({ peer, side, joined });
    return null;
  }

  /** Both streams may have H.264, one after the other; the peer accepts one access unit at a time. */
  sendVideo(peer: RtcPeer, accessUnit: Uint8Array, timestampMs: number, sent: () => void): void {
    const send = (): void => {
      this.#isSendingVideo = true;
      peer.sendVideo(accessUnit, timestampMs, () => {
        this.#isSendingVideo = false;
        const next = this.#nextVideo;
        this.#nextVideo = null;
        next?.();
        sent();
      });
    };
    if (this.#isSendingVideo) this.#nextVideo = send;
    else send();
  }

  /** The close signals the end; the page polls for the rest. */
  notify(): void {}

  hangUp(): void {
    this.end();
  }

  heartbeat(): void {}

  /** Nothing could be shown before. */
  connected(): void {
    this.#isConnected = true;
    this.opened?.joined.wantKeyFrame();
  }

  video(): void {}

  audio(): void {}

  command(command: number): void {
    if (command === viewerCommands.hear) this.#wantsSound = true;
    if (command === viewerCommands.mute) this.#wantsSound = false;
  }

  keyFrameWanted(): void {
    this.opened?.joined.wantKeyFrame();
  }

  bitrate(): void {}
}

/** Source or output at one viewer: H.264 and sound by RTP, JPEGs by the channel. Sound comes with the source. */
class ViewedStream implements LegOutput {
  readonly #leg: RtcViewerLeg;
  readonly #peer: RtcPeer;
  readonly #channel: PictureChannel;

  constructor(leg: RtcViewerLeg, peer: RtcPeer, channel: PictureChannel) {
    this.#leg = leg;
    this.#peer = peer;
    this.#channel = channel;
  }

  get sound(): SoundShape | null {
    const isHeard = this.#channel === 'source' && this.#leg.isConnected && this.#leg.wantsSound;
    return isHeard ? this.#peer.agreed.audioDown : null;
  }

  send(header: Uint8Array, payload: Uint8Array, sent: () => void): void {
    const read = this.#leg.isConnected ? readHeader(header, payload) : null;
    const { agreed } = this.#peer;
    const done = (): void => queueMicrotask(sent);
    if (read?.kind === 'video' && read.format === 'h264' && agreed.videoDown)
      this.#leg.sendVideo(this.#peer, payload, read.timestampMs, done);
    else if (read?.kind === 'video' && read.format === 'mjpeg' && agreed.pictures)
      this.#peer.sendPicture(payload, done, this.#channel);
    else {
      if (read?.kind === 'audio') this.#peer.sendAudio(payload, read.timestampMs);
      done();
    }
  }

  /** Viewers send no video. */
  askKeyFrame(): void {}
}
