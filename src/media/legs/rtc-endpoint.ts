/**
 * The WebRTC resources (RFC 9725): an offer makes a session with an address of its own, to which candidates are sent and at
 * which it is ended. Who may come in was settled before; a leg behind each session has its media. Every answer closes its
 * connection, as all of this listener do. Source: RFC 9725; calls-and-media.md, Legs.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { addressKey } from '../../lib/connections/address-key.ts';
import { Crowd } from '../../lib/connections/crowd.ts';
import type { LegRefusal } from '../../model/call.ts';
import { rtcOfferBytesMax, rtcOffersWaitingMax } from '../../model/media/rtc-limits.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { RtcPeer, RtcPeerOwner, RtcPeers } from '../webrtc/rtc-peer.ts';
import { problemOf, tooLarge, tooOften, type HttpRefusal } from './refusal.ts';
import { fragmentType, isViewerPath, offerType, type RtcChange, type RtcPreflight } from './rtc-request.ts';
import { RtcRates } from './rtc-rates.ts';
import { RtcSession } from './rtc-session.ts';
import { pathOf } from './leg-request.ts';
import type { UpgradeRequest } from './upgrade-request.ts';

/** For browsers and clients of others. */
type RtcSettings = MediaProcessSettings['legs']['rtc'];

/** The leg behind a session. */
export interface RtcLeg extends RtcPeerOwner {
  /** The peer has answered. Null: the leg is open. Else the peer is the caller's to close. */
  enter(peer: RtcPeer): LegRefusal | null;
  /** By its client's word. */
  hangUp(): void;
}

export interface RtcOffer {
  /** By which offers are bounded: one of a key is read at a time, the newest. */
  readonly key: string;
  /** Asked for again when the session is changed; null: its address is enough. */
  readonly credential: string | null;
  /** `ended` is to be called once, when the leg is gone. */
  readonly makeLeg: (ended: () => void) => RtcLeg;
}

/** The names of sessions cannot be guessed: they are a part of what opens them. */
const resourceBytes = 18;
/** A browser asks no more often before requests of the same kind. */
const preflightSeconds = 86_400;

export interface RtcEndpointDeps {
  readonly peers: RtcPeers;
  readonly clock: Clock;
  /** Requests are limited by their addresses: not behind a proxy. */
  readonly isPerAddress: boolean;
  /** Resolves when everything that was said of legs before is known to who keeps the calls. */
  readonly heard: () => Promise<void>;
}

type Headers = Readonly<Record<string, string>>;

export class RtcEndpoint {
  readonly #settings: RtcSettings;
  readonly #peers: RtcPeers;
  readonly #clock: Clock;
  readonly #heard: () => Promise<void>;
  readonly #links: Headers;
  readonly #sessions = new Map<string, RtcSession>();
  /** Offers that are read or answered, by their keys. */
  readonly #offers = new Map<string, UpgradeRequest>();
  /** The same, by the addresses that they come from. */
  readonly #offering = new Crowd<UpgradeRequest>();
  readonly #rates: RtcRates;
  /** Resolves when the last offer in line may be answered. */
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: RtcSettings, { peers, clock, isPerAddress, heard }: RtcEndpointDeps) {
    this.#settings = settings;
    this.#peers = peers;
    this.#clock = clock;
    this.#heard = heard;
    this.#rates = new RtcRates(clock, isPerAddress);
    this.#links = settings.iceServers.length > 0 ? { Link: settings.iceServers.join(', ') } : {};
  }

  /** Its refusals are problem details from now on, and a page may read its answers. Null: its address may ask now. */
  begin(request: UpgradeRequest): HttpRefusal | null {
    request.refuseBy((refusal) => {
      const answer = problemOf(refusal);
      return { ...answer, headers: { ...answer.headers, ...this.#crossOrigin(request) } };
    });
    const waitMs = this.#rates.countRequest(request.address, request.request.method === 'POST');
    return waitMs > 0 ? tooOften(waitMs) : null;
  }

  /** Null: an offer may be made now. */
  refusalOf(): LegRefusal | null {
    return this.#peers.missing === null ? null : 'webrtc';
  }

  preflight(request: UpgradeRequest, { allow }: RtcPreflight): void {
    this.#answer(request, 204, {
      Allow: allow,
      'Access-Control-Allow-Methods': 'POST, PATCH, DELETE, OPTIONS',
      'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-Match',
      'Access-Control-Max-Age': String(preflightSeconds),
      'Accept-Post': offerType,
      'Accept-Patch': fragmentType,
    });
  }

  /**
   * Makes a session of the offer in the body. Resolves to why it is none, which is not answered yet; null: it is open and
   * `whenOpen` was called before the answer, or was refused here.
   */
  async offer(request: UpgradeRequest, offer: RtcOffer, whenOpen: () => void): Promise<LegRefusal | null> {
    const waitMs = this.#rates.countOfferOfCall(offer.key);
    if (waitMs > 0) return refuse(request, tooOften(waitMs));
    if (this.#rates.countOffer() > 0) return 'busy';
    const address = addressKey(request.address);
    const nowMs = this.#clock.monotonicMs();
    const limits = { max: rtcOffersWaitingMax, perAddressMax: 0 };
    if (!this.#offering.makeRoom(address, nowMs, limits, (evicted) => evicted.cut())) return 'busy';
    this.#offers.get(offer.key)?.cut();
    this.#offers.set(offer.key, request);
    this.#offering.add(address, request, nowMs);
    try {
      const body = await request.readBody(rtcOfferBytesMax);
      if (body === null) return refuse(request, tooLarge(rtcOfferBytesMax));
      this.#turn = this.#turn.then(() => nextTurn());
      await this.#turn;
      if (!request.isAsking) return null;
      return await this.#open(request, offer, body, whenOpen);
    } finally {
      this.#offering.delete(address, request);
      if (this.#offers.get(offer.key) === request) this.#offers.delete(offer.key);
    }
  }

  async change(request: UpgradeRequest, { kind, resource, bearer }: RtcChange): Promise<void> {
    const session = this.#sessions.get(resource);
    if (session === undefined) request.refuse(noSession);
    else if (!session.isOpenedBy(bearer)) request.refuse(wrongBearer);
    else if (kind === 'rtc-patch') {
      const patched = await session.patch(request);
      if (patched.ok) this.#answer(request, 204, { ETag: session.etag });
      else request.refuse(patched.error);
    } else {
      session.hangUp();
      await this.#heard();
      this.#answer(request, 200, {});
    }
  }

  async #open(
    request: UpgradeRequest,
    { credential, makeLeg }: RtcOffer,
    body: Buffer,
    whenOpen: () => void,
  ): Promise<LegRefusal | null> {
    const id = randomBytes(resourceBytes).toString('base64url');
    const leg = makeLeg(() => this.#sessions.delete(id));
    const opened = this.#peers.open(request.address, leg);
    if (!opened.ok) return opened.error === 'busy' ? 'busy' : 'webrtc';
    const peer = opened.value;
    const answer = await peer.answer(body.toString('utf8'));
    if (!answer.ok) return refuse(request, answer.error);
    const refusal = request.isAsking ? leg.enter(peer) : null;
    if (!request.isAsking || refusal !== null) {
      peer.close();
      return refusal;
    }
    const session = new RtcSession({ clock: this.#clock, credential, peer, hangUp: () => leg.hangUp() });
    this.#sessions.set(id, session);
    whenOpen();
    await this.#heard();
    const headers = {
      Location: `${pathOf(request.request)}/${id}`,
      ETag: session.etag,
      'Content-Type': offerType,
      ...this.#links,
    };
    this.#answer(request, 201, headers, answer.value);
    return null;
  }

  #answer(request: UpgradeRequest, status: number, headers: Headers, body = ''): void {
    const length = status === 204 ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    request.answer(
      status,
      { Connection: 'close', ...length, ...headers, ...this.#crossOrigin(request) },
      body,
    );
  }

  #crossOrigin({ request }: UpgradeRequest): Headers {
    const { corsOrigins } = this.#settings;
    const { origin } = request.headers;
    const isAny = corsOrigins.includes('*') || isViewerPath(pathOf(request));
    if (origin === undefined || (!isAny && !corsOrigins.includes(origin))) return isAny ? {} : varying;
    return {
      'Access-Control-Allow-Origin': isAny ? '*' : origin,
      'Access-Control-Expose-Headers': 'Location, ETag, Link, Retry-After, Accept-Post, Accept-Patch, Allow',
      ...(!isAny && varying),
    };
  }
}

/** Resolves in the next turn of the event loop. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const varying = { Vary: 'Origin' };

const noSession: HttpRefusal = {
  status: 404,
  sentence: 'no such session: it has ended, or the server has restarted; send a new offer to /media/v1/whip',
};
const wrongBearer: HttpRefusal = {
  status: 401,
  sentence: 'send the token that opened this session as Authorization: Bearer, once',
  headers: { 'WWW-Authenticate': 'Bearer' },
};

function refuse(request: UpgradeRequest, refusal: HttpRefusal): null {
  request.refuse(refusal);
  return null;
}
