/** Fake WebRTC connections: a test makes them connect, send and close; they record what they receive. */
import { fail, succeed, type Result } from '../../src/lib/result.ts';
import type {
  PictureChannel,
  RtcAgreement,
  RtcAnswerRefusal,
  RtcOpenRefusal,
  RtcPeer,
  RtcPeerOwner,
  RtcPeers,
} from '../../src/media/webrtc/rtc-peer.ts';

import { Happenings } from './happenings.ts';

const everything: RtcAgreement = {
  audioDown: { format: 'opus', rate: 48_000, channels: 2 },
  videoDown: true,
  pictures: true,
};

export class FakeRtcPeer implements RtcPeer {
  readonly address: string;
  readonly owner: RtcPeerOwner;
  agreed: RtcAgreement;
  readonly offers: string[] = [];
  readonly fragments: string[] = [];
  readonly channels = new Set<PictureChannel>();
  /** Messages sent: `video`, `audio`, `picture`, `source` or `camera` with the payload in hex, and `command` with its number. */
  readonly sent: string[] = [];
  /** Callbacks of sent videos and pictures, oldest first; call one to report that it was written. */
  readonly sending: (() => void)[] = [];
  keyFramesAsked = 0;
  isClosed = false;
  readonly #peers: FakeRtcPeers;

  constructor(peers: FakeRtcPeers, address: string, owner: RtcPeerOwner) {
    this.#peers = peers;
    this.address = address;
    this.owner = owner;
    this.agreed = peers.agreed;
  }

  async answer(offer: string): Promise<Result<string, RtcAnswerRefusal>> {
    this.offers.push(offer);
    await this.#peers.held;
    if (offer.startsWith('v=0') && this.#peers.fault === null) return succeed('v=0 the answer');
    this.close();
    return fail(this.#peers.fault ?? { status: 422, sentence: 'this is no SDP' });
  }

  patch(fragment: string): Result<null, string> {
    this.fragments.push(fragment);
    return fragment.includes('ice-ufrag:new')
      ? fail('ICE cannot be restarted: send a new offer')
      : succeed(null);
  }

  sendVideo(accessUnit: Uint8Array, _: number, sent: () => void): void {
    this.#send(`video ${Buffer.from(accessUnit).toString('hex')}`);
    this.sending.push(sent);
  }

  sendAudio(packet: Uint8Array): void {
    this.#send(`audio ${Buffer.from(packet).toString('hex')}`);
  }

  sendPicture(jpeg: Uint8Array, sent: () => void, channel: PictureChannel = 'pictures'): void {
    this.#send(`${channel === 'pictures' ? 'picture' : channel} ${Buffer.from(jpeg).toString('hex')}`);
    this.sending.push(sent);
  }

  hasChannel(channel: PictureChannel): boolean {
    return this.channels.has(channel);
  }

  sendCommand(command: number): void {
    this.#send(`command ${command.toString(16)}`);
  }

  askKeyFrame(): void {
    this.keyFramesAsked += 1;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#peers.happened();
  }

  #send(what: string): void {
    if (!this.isClosed) this.sent.push(what);
  }
}

export class FakeRtcPeers extends Happenings implements RtcPeers {
  missing: string | null = null;
  /** Reason to refuse opening; null: opens. */
  refusal: RtcOpenRefusal | null = null;
  agreed = everything;
  /** Reason to refuse an offer; null: answers valid SDP. */
  fault: RtcAnswerRefusal | null = null;
  held: Promise<void> = Promise.resolve();
  readonly opened: FakeRtcPeer[] = [];

  get count(): number {
    return this.opened.filter(({ isClosed }) => !isClosed).length;
  }

  open(address: string, owner: RtcPeerOwner): Result<RtcPeer, RtcOpenRefusal> {
    if (this.refusal !== null) return fail(this.refusal);
    const peer = new FakeRtcPeer(this, address, owner);
    this.opened.push(peer);
    this.happened();
    return succeed(peer);
  }

  close(): void {
    for (const peer of this.opened) {
      if (!peer.isClosed) peer.owner.closed('it is closed');
      peer.close();
    }
  }

  /** Resolves to the peer that was opened as number `count`. */
  peer(count = 1): Promise<FakeRtcPeer> {
    return this.nth(this.opened, count);
  }
}
