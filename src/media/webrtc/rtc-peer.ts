/**
 * A WebRTC connection of one client, as the rest of the media process has it: it answers an offer, carries pictures and
 * sound both ways, and says when it is gone. All times are of the call, in milliseconds, as in the frame header of other
 * legs. Source: RFC 9725; calls-and-media.md, Legs.
 */
import type { Result } from '../../lib/result.ts';
import type { AudioFrameFormat, SoundShape } from '../../model/media/sound.ts';

/** `busy`: there are as many as may be, or as many of this address that have not connected. `unavailable`: no library, or switched off. */
export type RtcOpenRefusal = 'busy' | 'unavailable';

/** Of an offer: 422, or of this server: 503. The sentence is for the client. */
export interface RtcAnswerRefusal {
  readonly status: 422 | 503;
  readonly sentence: string;
}

/** What the operator is told of: the client sent too much, or no connection was made. */
export type RtcTrouble = 'flood' | 'unmade';

export interface RtcPeers {
  readonly count: number;
  /** The sentence says what to do where WebRTC is not to be had; null: it is. */
  readonly missing: string | null;
  /** `address`: of the client that asks, by which connections that are not made yet are bounded. */
  open(address: string, owner: RtcPeerOwner): Result<RtcPeer, RtcOpenRefusal>;
  /** All of them; their owners are told that they are gone. */
  close(): void;
}

/** `pictures`: what the device is shown. For a client that opens such channels, `source`: what the bridge sends; `camera`: what the device sends. */
export type PictureChannel = 'pictures' | 'source' | 'camera';

export interface RtcPeer {
  /** Once. The answer in SDP, with all our candidates; with a refusal the peer is gone. */
  answer(offer: string): Promise<Result<string, RtcAnswerRefusal>>;
  /**
   * A fragment of RFC 8840: candidates of the client, which need no answer (null). One that restarts ICE is refused with a
   * sentence, and the connection stays as it is.
   */
  patch(fragment: string): Result<null, string>;
  /**
   * An access unit of H.264 in Annex B. `sent`: once, when the next one may come, at the latest when the peer is gone;
   * nothing may be sent before it.
   */
  sendVideo(accessUnit: Uint8Array, timestampMs: number, sent: () => void): void;
  /** 20 ms in `agreed.audioDown`. */
  sendAudio(packet: Uint8Array, timestampMs: number): void;
  /** A JPEG by the channel, `pictures` if none is named; `sent` as of video. One larger than the client takes is left out. */
  sendPicture(jpeg: Uint8Array, sent: () => void, channel?: PictureChannel): void;
  /** A picture by this channel has somewhere to go. */
  hasChannel(channel: PictureChannel): boolean;
  /** 32 bits, by the channel `commands`. */
  sendCommand(command: number): void;
  /** Of the client's encoder. */
  askKeyFrame(): void;
  /** Media that offer and answer let this server send; nothing before the answer. */
  readonly agreed: RtcAgreement;
  /** The client is told; the owner is not. */
  close(): void;
}

export interface RtcAgreement {
  /** To the client; null: it takes no sound. */
  readonly audioDown: SoundShape | null;
  readonly videoDown: boolean;
  /** There are data channels: pictures and commands. */
  readonly pictures: boolean;
}

/** Once `gone` was called, or the peer was closed, only frames that the packet at hand still brings are called for. */
export interface RtcPeerOwner {
  /** ICE and DTLS are done: what is sent from now on arrives. */
  connected(): void;
  video(accessUnit: Uint8Array<ArrayBuffer>, isKey: boolean, timestampMs: number): void;
  audio(format: AudioFrameFormat, packet: Uint8Array<ArrayBuffer>, timestampMs: number): void;
  command(command: number): void;
  /** The client cannot show what it got. */
  keyFrameWanted(): void;
  /** What the client takes of video, as it says or as its reports of loss show. */
  bitrate(bitsPerSecond: number): void;
  gone(why: string, trouble?: RtcTrouble): void;
}
