/** Limits of WebRTC legs, each with the effect of exceeding it. Source: RFC 9725; calls-and-media.md, Legs. */

import type { Rate } from '../../lib/token-bucket.ts';

/** Bodies of WebRTC requests: an SDP offer, and a fragment with candidates; beyond either 413. */
export const rtcOfferBytesMax = 64 * 1024;
export const rtcFragmentBytesMax = 16 * 1024;
/**
 * Concurrent offers, at most one per call; a further one is answered 503. One offer is processed per turn of the event loop,
 * which takes less than 5 ms.
 */
export const rtcOffersWaitingMax = 256;
/** Offers per call; beyond it 429. A device that lost its network offers again every few seconds. */
export const rtcOfferRateMax: Rate = { perSecond: 1, burst: 5 };
/**
 * Requests per address (IPv6: per /64; not behind a proxy), valid or not, and offers (POST) among them; beyond either 429.
 * Devices behind one address offer simultaneously only after an outage.
 */
export const rtcAddressRequestRateMax: Rate = { perSecond: 200, burst: 1000 };
export const rtcAddressOfferRateMax: Rate = { perSecond: 50, burst: 250 };
/** Offers with a valid credential, in all; beyond it 503. */
export const rtcAllOfferRateMax: Rate = { perSecond: 100, burst: 500 };
/** Calls, and addresses, whose rates are kept; the least recent is dropped. */
export const rtcRatesKeptMax = 10_000;
/** Fragments per session: by rate, beyond it 429, and concurrently. At worst a client sends each candidate separately. */
export const rtcPatchRateMax: Rate = { perSecond: 10, burst: 40 };
export const rtcPatchesWaitingMax = 8;
/** Minimum interval between frame rate requests to a bridge. */
export const rtcFrameRateAskMsMin = 2000;
/** Frames of video per second, regardless of settings and network. */
export const framesPerSecondMax = 60;

/**
 * Deadline for a requested connection to complete ICE and DTLS. Connecting at once: per address (IPv6: per /64; not behind a
 * proxy) and in all; beyond it another is refused.
 */
export const rtcConnectMsMax = 15_000;
export const rtcConnectingPerAddressMax = 32;
export const rtcConnectingMax = 256;
/** RTP payload bytes such that a packet with SRTP, UDP and IPv6 fits a link MTU of 1280 bytes. */
export const rtcPayloadBytesMax = 1100;
/** Per access unit: payloads it arrives in, and NAL units; with more it is broken. */
export const rtcPiecesMax = 4096;
/** NAL units of one aggregate (STAP-A); with more its access unit is broken. */
export const rtcAggregateUnitsMax = 128;
/**
 * An access unit ends when another timestamp arrives. Otherwise it ends this long after its last packet: with a marker; and
 * without one, or if the source's marker does not mean the last packet. A unit that lasts longer than the third value is
 * dropped: a key frame of 100 kB at 200 kbit/s takes 4 s.
 */
export const rtcUnitMarkedMs = 100;
export const rtcUnitSilenceMs = 500;
export const rtcUnitMsMax = 5000;
/**
 * After this many units with the marker on their last packet, a marker ends a unit at once; before, a unit waits for the next
 * timestamp. A source that marks each slice reveals that in its first key frame.
 */
export const rtcMarkedUnitsMin = 10;
/** Bytes of NAL units without a slice kept for the next picture; beyond it the oldest is dropped. */
export const rtcLeadingBytesMax = 64 * 1024;
/**
 * Rate limits of one client; exceeding one closes it. Video at 2.5 Mbit/s and sound are 300 packets a second; the burst covers
 * the backlog of a network that stalled for some seconds.
 */
export const rtcClientRatesMax = {
  packets: { perSecond: 1500, burst: 3000 },
  messages: { perSecond: 20, burst: 100 },
  bytes: { perSecond: 1024 * 1024, burst: 4 * 1024 * 1024 },
} as const satisfies Record<string, Rate>;
/** Video bitrate that clients are asked to stay below. */
export const rtcVideoBitrateMax = 2_500_000;
/** Data channels per client; one more closes it. */
export const rtcChannelsMax = 8;
/**
 * Reordering: packets that arrive early wait, at most this many and this long, for earlier ones; then these are lost. Missing
 * sound is not requested again: it would arrive too late.
 */
export const rtcReorderPacketsMax = 512;
export const rtcReorderMsMax = { video: 300, audio: 60 } as const;
/** Missing packets per stream that are waited for, by rate; a gap beyond it restarts the stream. */
export const rtcMissingRateMax: Rate = { perSecond: 1000, burst: 1024 };
/**
 * A stream has one source at a time. Another source's packets are dropped until the first has been silent for this long or has
 * sent BYE; also beyond this rate of changes.
 */
export const rtcSourceSilenceMs = 1000;
export const rtcSourceRateMax: Rate = { perSecond: 1, burst: 4 };
/** Sources per client, over all streams; one more closes it. The library stores and searches the keys of each. */
export const rtcSourcesMax = 256;
/** Minimum interval between requests for a missing packet, and their number. */
export const rtcNackMsMin = 60;
export const rtcNacksMax = 4;
/**
 * Video packets kept per client for retransmission (a second of 2.5 Mbit/s); retransmissions per packet, and their minimum
 * interval. Sound would arrive too late. One RTCP packet may name at most this many, regardless of its number of NACKs.
 */
export const rtcPacketsKept = 256;
export const rtcResendsMax = 3;
export const rtcResendMsMin = 20;
/**
 * Retransmitted bytes: per client a share of its video plus a burst (a network stall of 400 ms), and a rate over all clients.
 * Beyond either a NACK is ignored.
 */
export const rtcResendShare = 0.25;
export const rtcResendBytesBurstMax = 128 * 1024;
export const rtcResendByteRateOfAllMax: Rate = { perSecond: 8 * 1024 * 1024, burst: 2 * 1024 * 1024 };
/**
 * RTCP packets processed: per client by rate, in all per turn of the event loop, and messages per packet; more are ignored.
 * Clients send 5 to 100 packets a second, each of 2 to 8 messages.
 */
export const rtcFeedbackRateMax: Rate = { perSecond: 200, burst: 200 };
export const rtcFeedbackPerTurnMax = 256;
export const rtcFeedbackMessagesMax = 16;
/** Timestamps that deviate more than this from their arrival time start a new timeline. */
export const rtcTimestampJumpMsMax = 5000;
/** Maximum shift of a client's pictures to align with its sound, and maximum step between two pictures. */
export const rtcAlignMsMax = 1000;
export const rtcAlignStepMsMax = 5;
/** Interval of all connections' timers: missing packets, and packets waiting to be paced. */
export const rtcTickMs = 20;
/** Interval of reports in both directions; the longer one if the client offers no early feedback (RFC 9429, 5.1.2). */
export const rtcReportMs = 1000;
export const rtcCompatibleReportMs = 4000;
/** Pacing rate of outgoing video, so that routers do not drop a large picture's burst. */
export const rtcPaceRate: Rate = { perSecond: 1024 * 1024, burst: 32 * 1024 };
/** Bytes that may wait in a data channel before the next picture is taken. */
export const rtcChannelBacklogBytes = 16 * 1024;
