/** Limits of WebRTC legs, each with what happens beyond it. Source: RFC 9725; calls-and-media.md, Legs. */

import type { Rate } from '../../lib/token-bucket.ts';

/** Bodies of WebRTC requests: an offer in SDP, and a fragment with candidates; beyond either 413. */
export const rtcOfferBytesMax = 64 * 1024;
export const rtcFragmentBytesMax = 16 * 1024;
/**
 * Offers that are read or answered at once, one of a call among them; another is answered 503. One of them is answered in a
 * turn of the event loop, which costs less than 5 ms.
 */
export const rtcOffersWaitingMax = 256;
/** Offers of one call; beyond it 429. A device that lost its network offers anew once every few seconds. */
export const rtcOfferRateMax: Rate = { perSecond: 1, burst: 5 };
/**
 * Requests of one address (IPv6: one /64; not behind a proxy), good or bad, and offers among them, by POST; beyond either
 * 429. Devices behind one address offer at the same time only after an outage.
 */
export const rtcAddressRequestRateMax: Rate = { perSecond: 200, burst: 1000 };
export const rtcAddressOfferRateMax: Rate = { perSecond: 50, burst: 250 };
/** Offers in all that have a good credential; beyond it 503. */
export const rtcAllOfferRateMax: Rate = { perSecond: 100, burst: 500 };
/** Calls, and addresses, whose rates are kept; the one that came longest ago is forgotten. */
export const rtcRatesKeptMax = 10_000;
/** Fragments of one session: by rate, beyond it 429, and at once. A client sends each candidate by itself at worst. */
export const rtcPatchRateMax: Rate = { perSecond: 10, burst: 40 };
export const rtcPatchesWaitingMax = 8;
/** A bridge is not asked sooner again for another frame rate. */
export const rtcFrameRateAskMsMin = 2000;
/** Frames a second of video, whatever a setting or a network allows. */
export const framesPerSecondMax = 60;

/**
 * A connection that was asked for has this long until ICE and DTLS are done; of one address (IPv6: one /64; not behind a
 * proxy) and of all together at most so many wait for that, and beyond it another is refused.
 */
export const rtcConnectMsMax = 15_000;
export const rtcConnectingPerAddressMax = 32;
export const rtcConnectingMax = 256;
/** Of RTP behind its header, so that a packet with SRTP, UDP and IPv6 passes a link of 1280 bytes. */
export const rtcPayloadBytesMax = 1100;
/** Of one access unit: payloads that it comes in, and NAL units; with more it is broken. */
export const rtcPiecesMax = 4096;
/** NAL units of one aggregate (STAP-A); with more its access unit is broken. */
export const rtcAggregateUnitsMax = 128;
/**
 * An access unit ends when another timestamp comes. Where none comes, it ends this long after its last packet: with a
 * marker; and without one, or from a source that marks other packets than the last. A unit that lasts longer than the third
 * is dropped: a key frame of 100 kB over 200 kbit/s takes 4 s.
 */
export const rtcUnitMarkedMs = 100;
export const rtcUnitSilenceMs = 500;
export const rtcUnitMsMax = 5000;
/**
 * A source's marker ends a unit at once after so many units with the marker on their last packet; before, a unit waits for
 * the next timestamp. A source that marks each slice shows it in its first key frame.
 */
export const rtcMarkedUnitsMin = 10;
/** Bytes of NAL units without a slice that are kept for the next picture; beyond it the oldest is dropped. */
export const rtcLeadingBytesMax = 64 * 1024;
/**
 * What one client may send, by rates with a burst; beyond any of them it is closed. A call's 2.5 Mbit/s of video and its
 * sound are 300 packets a second; the burst is what a network that stood still for some seconds hands over at once.
 */
export const rtcClientRatesMax = {
  packets: { perSecond: 1500, burst: 3000 },
  messages: { perSecond: 20, burst: 100 },
  bytes: { perSecond: 1024 * 1024, burst: 4 * 1024 * 1024 },
} as const satisfies Record<string, Rate>;
/** What a client is asked to keep its video below. */
export const rtcVideoBitrateMax = 2_500_000;
/** Data channels that one client opens; with one more it is closed. */
export const rtcChannelsMax = 8;
/**
 * Packets that come early are held, so many and so long, for those before them; then these are lost. Missing sound is not
 * asked for again: it would come too late.
 */
export const rtcReorderPacketsMax = 512;
export const rtcReorderMsMax = { video: 300, audio: 60 } as const;
/** Packets of one stream that are waited for, by rate; a gap beyond it begins the stream again. */
export const rtcMissingRateMax: Rate = { perSecond: 1000, burst: 1024 };
/**
 * A stream has one source at a time. Packets of another source are dropped until the first has been silent for this long
 * or has said BYE; also beyond this rate of changes.
 */
export const rtcSourceSilenceMs = 1000;
export const rtcSourceRateMax: Rate = { perSecond: 1, burst: 4 };
/** Sources of one client, of all streams; with one more it is closed. The library keeps and searches the keys of each. */
export const rtcSourcesMax = 256;
/** A missing packet is asked for again not sooner than this, and only so often. */
export const rtcNackMsMin = 60;
export const rtcNacksMax = 4;
/**
 * Packets of video kept for a client that asks for them again, a second of 2.5 Mbit/s; how often one is sent again, and no
 * sooner than this. Sound would come too late. One packet of RTCP names no more of them, whatever the number of its NACKs.
 */
export const rtcPacketsKept = 256;
export const rtcResendsMax = 3;
export const rtcResendMsMin = 20;
/**
 * Bytes that are sent again: of one client a share of its video and a burst, as long as a network stands still for 400 ms,
 * and of all clients by rate. Beyond either a NACK has no effect.
 */
export const rtcResendShare = 0.25;
export const rtcResendBytesBurstMax = 128 * 1024;
export const rtcResendByteRateOfAllMax: Rate = { perSecond: 8 * 1024 * 1024, burst: 2 * 1024 * 1024 };
/**
 * Packets of RTCP that are read, of one client by rate and of all within one turn of the event loop, and messages in one of
 * them; what is beyond is passed over. Clients send 5 to 100 a second, each of 2 to 8 messages.
 */
export const rtcFeedbackRateMax: Rate = { perSecond: 200, burst: 200 };
export const rtcFeedbackPerTurnMax = 256;
export const rtcFeedbackMessagesMax = 16;
/** Timestamps that stray so far from the time they come begin a new time line. */
export const rtcTimestampJumpMsMax = 5000;
/** Pictures of a client are moved to its sound by no more than this, and by so much from one to the next. */
export const rtcAlignMsMax = 1000;
export const rtcAlignStepMsMax = 5;
/** Timers of all connections run so often: packets that are missing, and those that wait for their turn. */
export const rtcTickMs = 20;
/** Reports of both sides; the longer interval where the client offers no early feedback (RFC 9429, 5.1.2). */
export const rtcReportMs = 1000;
export const rtcCompatibleReportMs = 4000;
/** Video leaves no faster than this, so that a large picture is no burst that a router drops. */
export const rtcPaceRate: Rate = { perSecond: 1024 * 1024, burst: 32 * 1024 };
/** What may wait in a data channel when the next picture is taken. */
export const rtcChannelBacklogBytes = 16 * 1024;
