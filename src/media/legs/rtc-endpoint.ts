/**
 * The WebRTC resources (RFC 9725). An offer creates a session with its own URL, which accepts candidates and ends the session. Admission
 * was decided before; each session has a leg that carries its media. Every response closes its connection, as everywhere at this
 * listener. Source: RFC 9725; calls-and-media.md, Legs.
 */
import { randomBytes } from 'node:crypto';
import { nextTurn, type Clock } from '../../lib/clock.ts';
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

type RtcSettings = MediaProcessSettings['legs']['rtc'];

export interface RtcLeg extends RtcPeerOwner {
  /** Called after the peer has answered. Null: the leg is open. Otherwise the caller closes the peer. */
  enter(peer: RtcPeer): LegRefusal | null;
  hangUp(): void;
}

export interface RtcOffer {
  /** Limits offers: only the newest one of a key is read. */
  readonly key: string;
  /** Required for changes of the session; null: its URL is sufficient. */
  readonly credential: string | null;
  /** `ended` must be called once, when the leg has ended. */
  readonly makeLeg: (ended: () => void) => RtcLeg;
}

/** Random bytes of a session's name, which must not be guessable: it is part of the credential. */
const resourceBytes = 18;
const preflightSeconds = 86_400;

export interface RtcEndpointDeps {
  readonly peers: RtcPeers;
  readonly clock: Clock;
  /** Requests are rate-limited by address; false behind a proxy. */
  readonly isPerAddress: boolean;
  /** Resolves when the owner of the calls has processed all earlier reports of legs. */
  readonly awaitReports: () => Promise<void>;
}

type Headers = Readonly<Record<string, string>>;

export class RtcEndpoint {
  readonly #settings: RtcSettings;
  readonly #peers: RtcPeers;
  readonly #clock: Clock;
  readonly #awaitReports: () => Promise<void>;
  readonly #links: Headers;
  readonly #sessions = new Map<string, RtcSession>();
  /** Offers being read or answered, by key. */
  readonly #offers = new Map<string, UpgradeRequest>();
  /** Offers being read or answered, by client address. */
  readonly #offering = new Crowd<UpgradeRequest>();
  readonly #rates: RtcRates;
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: RtcSettings, { peers, clock, isPerAddress, awaitReports }: RtcEndpointDeps) {
    this.#settings = settings;
    this.#peers = peers;
    this.#clock = clock;
    this.#awaitReports = awaitReports;
    this.#rates = new RtcRates(clock, isPerAddress);
    this.#links = settings.iceServers.length > 0 ? { Link: settings.iceServers.join(', ') } : {};
  }

  /**
   * Sets the format of the response: refusals become problem details, and CORS headers are added. Null: the address is within its rate.
   */
  begin(request: UpgradeRequest): HttpRefusal | null {
    request.refuseBy((refusal) => {
      const answer = problemOf(refusal);
      return { ...answer, headers: { ...answer.headers, ...this.#crossOrigin(request) } };
    });
    const waitMs = this.#rates.countRequest(request.address, request.request.method === 'POST');
    return waitMs > 0 ? tooOften(waitMs) : null;
  }

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
   * Creates a session from the offer in the body. Resolves to the reason of a refusal, which the caller answers; null: the session is
   * open and `whenOpen` was called before the response, or the request was already refused here.
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
      await this.#awaitReports();
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
    await this.#awaitReports();
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
