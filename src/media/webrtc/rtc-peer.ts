/**
 * A WebRTC connection of one client, as the rest of the media process sees it: answers an offer, carries pictures and sound both ways,
 * and reports its end. All times are call times in milliseconds, as in the frame headers of other legs. Source: RFC 9725;
 * calls-and-media.md, Legs.
 */
import type { Result } from '../../lib/result.ts';
import type { AudioFrameFormat, SoundShape } from '../../model/media/sound.ts';

/** `busy`: the maximum of connections is reached, or of unconnected ones of this address. `unavailable`: no library, or disabled. */
export type RtcOpenRefusal = 'busy' | 'unavailable';

/** The fault of an offer: 422, or of this server: 503. The sentence is for the client. */
export interface RtcAnswerRefusal {
  readonly status: 422 | 503;
  readonly sentence: string;
}

/** Problems reported to the operator: the client exceeded a limit, or no connection was established. */
export type RtcTrouble = 'flood' | 'unmade';

export interface RtcPeers {
  readonly count: number;
  /** A sentence that says what to do if WebRTC is unavailable; null: it is available. */
  readonly missing: string | null;
  /** `address`: of the client; connections that are not established yet are bounded by it. */
  open(address: string, owner: RtcPeerOwner): Result<RtcPeer, RtcOpenRefusal>;
  close(): void;
}

/**
 * `pictures`: the video that the device receives. For clients that open such channels, `source`: the video that the bridge sends;
 * `camera`: the video that the device sends.
 */
export type PictureChannel = 'pictures' | 'source' | 'camera';

export interface RtcPeer {
  /** Call once. Returns the SDP answer with all our candidates; after a refusal the peer is closed. */
  answer(offer: string): Promise<Result<string, RtcAnswerRefusal>>;
  /**
   * Accepts a fragment of RFC 8840: candidates of the client, which need no answer (null). An ICE restart is refused with a sentence,
   * and the connection stays as it is.
   */
  patch(fragment: string): Result<null, string>;
  /**
   * Sends an H.264 access unit in Annex B. `sent` is called once, when the next one may come, at the latest when the peer has ended;
   * until then nothing may be sent.
   */
  sendVideo(accessUnit: Uint8Array, timestampMs: number, sent: () => void): void;
  /** Sends 20 ms in the format of `agreed.audioDown`. */
  sendAudio(packet: Uint8Array, timestampMs: number): void;
  /** Sends a JPEG over a channel, default `pictures`; `sent` as for video. A picture larger than the client accepts is dropped. */
  sendPicture(jpeg: Uint8Array, sent: () => void, channel?: PictureChannel): void;
  /** A picture over this channel would reach the client. */
  hasChannel(channel: PictureChannel): boolean;
  sendCommand(command: number): void;
  /** Requests a key frame from the client's encoder. */
  askKeyFrame(): void;
  /** Media that this server may send by offer and answer; nothing before the answer. */
  readonly agreed: RtcAgreement;
  /** Notifies the client, but not the owner. */
  close(): void;
}

export interface RtcAgreement {
  /** Sound to the client; null: it accepts none. */
  readonly audioDown: SoundShape | null;
  readonly videoDown: boolean;
  /** There are data channels: pictures and commands. */
  readonly pictures: boolean;
}

/** After `closed`, or after the peer was closed, only frames of the current packet are still delivered. */
export interface RtcPeerOwner {
  /** ICE and DTLS are done: messages sent from now on arrive. */
  connected(): void;
  video(accessUnit: Uint8Array<ArrayBuffer>, isKey: boolean, timestampMs: number): void;
  audio(format: AudioFrameFormat, packet: Uint8Array<ArrayBuffer>, timestampMs: number): void;
  command(command: number): void;
  /** The client cannot decode what it received. */
  keyFrameWanted(): void;
  /** Bit rate of video that the client can receive, by its own estimate or by its loss. */
  bitrate(bitsPerSecond: number): void;
  closed(why: string, trouble?: RtcTrouble): void;
}
