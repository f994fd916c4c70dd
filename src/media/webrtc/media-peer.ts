/**
 * One peer: answers an offer, and then owns a connection whose packets go to its streams and whose data channels are its own. It ends
 * once, by its client, by its owner, or because the client exceeds a limit.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { fail, messageOf, succeed, type Result } from '../../lib/result.ts';
import { Allowance } from '../../lib/token-bucket.ts';
import {
  rtcChannelsMax,
  rtcClientRatesMax,
  rtcFragmentBytesMax,
  rtcOfferBytesMax,
  rtcSourcesMax,
} from '../../model/media/rtc-limits.ts';
import { sourceOf } from '../../protocol/rtp/rtp-packet.ts';
import { readIceFragment } from '../../protocol/sdp/ice-fragment.ts';
import { writeAnswer } from '../../protocol/sdp/media-answer.ts';
import { readOffer } from '../../protocol/sdp/media-offer.ts';
import type { IceCredentials } from '../../protocol/sdp/offered-transport.ts';
import { agree, soundShapeOf, type AgreedOffer, type Agreement } from './agreement.ts';
import { advertised } from './candidates.ts';
import type { SharedFeedback } from './feedback-allowance.ts';
import { MediaStreams } from './media-streams.ts';
import { PeerChannels } from './peer-channels.ts';
import { channelMessageBytesMax, RtcConnection } from './rtc-connection.ts';
import type { RtcEngine } from './rtc-engine.ts';
import type {
  PictureChannel,
  RtcAgreement,
  RtcAnswerRefusal,
  RtcPeer,
  RtcPeerOwner,
  RtcTrouble,
} from './rtc-peer.ts';
import type { UdpPort, UdpPorts } from './udp-ports.ts';

export interface MediaPeerDeps {
  readonly clock: Clock;
  readonly engine: RtcEngine;
  readonly ports: UdpPorts;
  /** Addresses that candidates name instead of the local ones; empty: the local ones. */
  readonly advertise: readonly string[];
  readonly owner: RtcPeerOwner;
  readonly feedback: SharedFeedback;
  /** ICE and DTLS are done. */
  onConnected(): void;
  onEnd(): void;
}

const nothingAgreed: RtcAgreement = {
  audioDown: null,
  videoDown: false,
  pictures: false,
};

const packetKinds = ['packets'] as const;
const messageKinds = ['messages'] as const;

export class MediaPeer implements RtcPeer {
  readonly #deps: MediaPeerDeps;
  readonly #allowance: Allowance<'packets' | 'messages'>;
  /** SSRCs of the client's packets. */
  readonly #sources = new Set<number>();
  #stage: 'open' | 'ended' = 'open';
  #ice: IceCredentials | null = null;
  #agreed = nothingAgreed;
  #port: UdpPort | null = null;
  #connection: RtcConnection | null = null;
  #streams: MediaStreams | null = null;
  #channels: PeerChannels | null = null;

  constructor(deps: MediaPeerDeps) {
    this.#deps = deps;
    this.#allowance = new Allowance('a client', rtcClientRatesMax, deps.clock.monotonicMs());
  }

  get agreed(): RtcAgreement {
    return this.#agreed;
  }

  async answer(offer: string): Promise<Result<string, RtcAnswerRefusal>> {
    const answer = await this.#tryAnswer(offer);
    if (!answer.ok) this.close();
    return answer;
  }

  async #tryAnswer(text: string): Promise<Result<string, RtcAnswerRefusal>> {
    const refused = (sentence: string) => fail({ status: 422, sentence } as const);
    if (Buffer.byteLength(text) > rtcOfferBytesMax)
      return refused(`an offer is at most ${rtcOfferBytesMax} bytes`);
    const offer = readOffer(text);
    if (!offer.ok) return refused(offer.error);
    const agreement = agree(offer.value);
    if (!agreement.ok) return refused(agreement.error);
    try {
      return succeed(await this.#connect(agreement.value));
    } catch (error) {
      const sentence = `the connection cannot be made: ${messageOf(error)}`;
      this.end(sentence, 'unmade');
      return fail({ status: 503, sentence });
    }
  }

  patch(text: string): Result<null, string> {
    if (Buffer.byteLength(text) > rtcFragmentBytesMax)
      return fail(`a fragment is at most ${rtcFragmentBytesMax} bytes`);
    const ice = readIceFragment(text);
    if (!ice.ok) return ice;
    const isRestart =
      ice.value !== null &&
      (ice.value.ufrag !== this.#ice?.ufrag || ice.value.password !== this.#ice.password);
    return isRestart ? fail(noRestart) : succeed(null);
  }

  sendVideo(accessUnit: Uint8Array, timestampMs: number, sent: () => void): void {
    if (this.#stage === 'ended' || this.#streams === null) sent();
    else this.#streams.sendVideo(accessUnit, timestampMs, sent);
  }

  sendAudio(packet: Uint8Array, timestampMs: number): void {
    if (this.#stage === 'open') this.#streams?.sendAudio(packet, timestampMs);
  }

  sendPicture(jpeg: Uint8Array, sent: () => void, channel?: PictureChannel): void {
    if (this.#stage === 'ended' || this.#channels === null) sent();
    else this.#channels.sendPicture(jpeg, sent, channel);
  }

  readonly hasChannel = (channel: PictureChannel): boolean => this.#channels?.has(channel) === true;

  sendCommand(command: number): void {
    if (this.#stage === 'open') this.#channels?.sendCommand(command);
  }

  askKeyFrame(): void {
    if (this.#stage === 'open') this.#streams?.askKeyFrame();
  }

  tick(nowMs: number): void {
    if (this.#stage === 'open') this.#streams?.tick(nowMs);
  }

  close(): void {
    if (this.#stage === 'ended') return;
    this.#stage = 'ended';
    this.#streams?.close();
    this.#channels?.close();
    this.#connection?.close();
    this.#port?.release();
    this.#deps.onEnd();
  }

  /** Closes, and notifies its owner. */
  end(why: string, trouble?: RtcTrouble): void {
    if (this.#stage === 'ended') return;
    this.close();
    this.#deps.owner.closed(why, trouble);
  }

  async #connect(agreement: AgreedOffer): Promise<string> {
    const { clock, engine, advertise, owner, feedback } = this.#deps;
    const sourceName = randomUUID();
    const connection = new RtcConnection(engine, await this.#acquirePort(), {
      packet: (bytes) => this.#receivePacket(bytes),
      channel: (channel) => this.#channels?.add(channel),
      connected: () => this.#connected(),
      ended: () => this.end('the client has ended the connection, or does not answer'),
    });
    this.#connection = connection;
    const streams = new MediaStreams(agreement, {
      clock,
      owner,
      sourceName,
      feedback,
      send: (packet) => connection.send(packet),
    });
    this.#streams = streams;
    const local = await connection.start({
      ...agreement.transport,
      hasMedia: agreement.sections.some(
        ({ accepted }) => accepted !== null && accepted !== agreement.channels,
      ),
      channels: agreement.channels,
    });
    this.#openChannels(connection, agreement);
    this.#ice = agreement.transport.ice;
    this.#agreed = {
      audioDown: soundShapeOf(agreement.audioDown),
      videoDown: agreement.videoDown !== null,
      pictures: agreement.channels !== null,
    };
    return writeAnswer({
      accepted: agreement,
      transport: { ...local, candidates: advertised(local.candidates, advertise) },
      ssrcs: streams.ssrcs,
      sourceName,
      messageBytesMax: channelMessageBytesMax,
    });
  }

  async #acquirePort(): Promise<UdpPort> {
    const port = await this.#deps.ports.acquire();
    this.#port = port;
    if (this.#stage === 'open') return port;
    port.release();
    throw new Error('it was closed');
  }

  #openChannels(connection: RtcConnection, { channels }: Agreement): void {
    if (channels === null) return;
    // 0: unlimited.
    const messageBytesMax = channels.messageBytesMax === 0 ? Infinity : channels.messageBytesMax;
    this.#channels = new PeerChannels(
      Math.min(messageBytesMax, channelMessageBytesMax),
      (label) => connection.openChannel(label),
      {
        command: (command) => this.#deps.owner.command(command),
        acceptMessage: (bytes) => this.#acquire(messageKinds, bytes),
        tooManyChannels: () => this.end(`a client opens ${rtcChannelsMax} data channels at most`, 'flood'),
      },
    );
  }

  #receivePacket(bytes: Buffer): void {
    const source = sourceOf(bytes);
    if (source !== undefined) this.#sources.add(source);
    if (this.#sources.size > rtcSourcesMax)
      this.end(`a client has ${rtcSourcesMax} sources at most`, 'flood');
    else if (this.#acquire(packetKinds, bytes.length)) this.#streams?.receive(bytes);
  }

  /** False: the peer exceeded its rate and has ended. */
  #acquire(kinds: typeof packetKinds | typeof messageKinds, bytes: number): boolean {
    const fault = this.#allowance.acquire(kinds, bytes, this.#deps.clock.monotonicMs());
    if (fault !== null) this.end(fault, 'flood');
    return fault === null;
  }

  #connected(): void {
    this.#deps.onConnected();
    this.#deps.owner.connected();
  }
}

const noRestart =
  'ICE restart is not supported: to replace a lost connection, send another offer with the same token';
