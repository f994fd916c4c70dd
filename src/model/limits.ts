/**
 * Fixed limits of the wire and of memory, which no deployment needs to change; those that a deployment may change are settings
 * (server/settings). Each name states the bounded quantity and its unit.
 */

import type { Rate } from '../lib/token-bucket.ts';

/** Source: API doc, Limits. */
export const deviceIdBytesMax = 255;
export const requestIdBytesMax = 128;
/** Id of an application, a product or a bridge. */
export const registryIdBytesMax = 255;
export const bodyBytesMax = 64 * 1024;

/** Sleep wire. Source: sleep-wire.md, Exchange and Refusals. */
export const loginLineBytesMax = 1024;
export const heartbeatSecondsMin = 5;
export const heartbeatSecondsMax = 3600;
/** Sleep servers that a product names, and the longest reconnect waits that it may ask for. */
export const productSleepServersMax = 8;
export const productRetryMinSecondsMax = 3600;
export const productRetrySecondsMax = 86_400;
/** A session ends after this many heartbeat intervals of silence. */
export const heartbeatsMissedMax = 3;

/** Messages waiting in one device's mailbox behind the current one; beyond it a message is refused. */
export const mailboxMessagesMax = 64;
/** Wakeups waiting on one connection for an earlier packet; beyond it 42901. */
export const wakeupsWaitingMax = 8;
/** Sockets of the sleep port besides its maximum of sessions, so that further logins can be answered. */
export const handshakeSocketsReserved = 256;
/** A module that received a refusal has this long to read it and close; its further bytes are discarded up to a bound. */
export const refusalLingerMsMax = 1000;
export const refusalDiscardBytesMax = 64 * 1024;
/** Share of the admission queue that one address may use. */
export const admissionQueueShareMax = 0.5;
/** A PROXY protocol header, TLVs included. */
export const proxyHeaderBytesMax = 4096;
/** Descriptors kept from the sleep port for API, ops, store and logs. Source: decisions.md, File descriptors. */
export const descriptorsReserved = 1024;
/**
 * Part of these that the API and the ops listener may always use. The rest serves the link to a media process, sockets of
 * pending logins at the sleep and the signal port, and descriptors of store, log and threads.
 */
export const apiConnectionsReserved = 256;
export const opsConnectionsReserved = 64;
/** Share of the devices' descriptors that the API, or the ops listener, may use beyond its reserved part. */
export const httpPoolShareMax = 0.25;
/** Bytes that uWebSockets.js reads from a socket at once; after a full read it reads again. */
export const frontEndReadBytes = 512 * 1024;
/** Addresses whose unauthenticated connections are counted, per listener; further addresses are not bounded. */
export const addressesCountedMax = 20_000;

/** Signal wire. Source: signal-wire.md. */
/** Message of a controller; a larger one is answered with 1009 as soon as its length is known, and never buffered. */
export const signalMessageBytesMax = 16 * 1024;
/** Maximum size of the capabilities' JSON in a login, bytes. */
export const signalMediaBytesMax = 2 * 1024;
/** Heartbeat interval requested from controllers; offline after `heartbeatsMissedMax` of them. */
export const signalHeartbeatSeconds = 30;
/** Unsent bytes for one slow controller; beyond it its connection is reset. */
export const signalBackpressureBytesMax = 256 * 1024;

/**
 * Rates of one controller: messages, pings and pongs; and its reports, which cost more. Beyond either its connection is closed
 * with 4429. Pings are also limited before the login.
 */
export const signalMessagesPerSecondMax = 10;
export const signalMessagesBurstMax = 100;
/** Wake reports and call rejections together. */
export const controllerReportsPerSecondMax = 1;
export const controllerReportsBurstMax = 10;
export const signalHandshakePingsMax = 16;

/** Message to a device: JSON size of its payload, length of its name, messages waiting per device, and timeout of the acknowledgement. */
export const messagePayloadBytesMax = 8 * 1024;
export const messageNameCharactersMax = 64;
/** Nesting depth of a payload: far above real payloads, far below a stack overflow. */
export const messagePayloadDepthMax = 500;
export const messagesWaitingMax = 16;
export const messageAckMsMax = 5000;
/** Messages remembered by signature while their date is within the clock window; full: 42901. */
export const messagesKnownMax = 1_000_000;
/** Default time that a message may wait for the device that it wakes. */
export const wakingSecondsDefault = 20;
/** Messages of one member that wait for a device to wake, in all and per application; beyond either 42901. */
export const wakingMessagesMax = 10_000;
export const wakingMessagesPerApplicationMax = 2_500;

/** Wakeup outcomes. Source: events.md. A signal login within this time completes a wakeup; later it is expired. */
export const wakeupToOnlineMsMax = 60_000;
/** A session reset this soon after the write fails the wakeup, unless the device is online within the grace. */
export const wakeupResetMsMax = 10_000;
export const wakeupResetGraceMs = 5_000;
/** Wakeups of one process whose outcome is awaited or whose cause may still be reported; beyond it 42901. */
export const wakeupsWatchedMax = 1_000_000;
/** Completed wakeups per device whose cause may still be reported, and for how long; the oldest is dropped. */
export const wakeupsReportableMax = 16;
export const wakeupReportMsMax = 60_000;
/** An answer about a wakeup waits at most this long for the commit of the outcome; then 50301. */
export const wakeupOutcomeCommitMsMax = 2000;

/** Calls. Source: calls-and-media.md, Credential issuance. */
export const callTextBytesMax = 1024;
export const roomIdBytesMax = 127;
export const msgIdCharactersMax = 63;
/** The spec sets no limit on `msg_payload` besides the body's. */
export const callPayloadBytesMax = 16 * 1024;
export const callingTimeoutSecondsMax = 3600;
export const callingTimeoutSecondsDefault = 30;
export const screenSideMax = 16_384;
/** Pixels of a generated picture; a larger screen is not filled. */
export const picturePixelsMax = 4096 * 4096;
/** Lifetime of an unconnected session and of a token's first connect, beyond the ring timeout. */
export const callIssuedGraceS = 60;
export const peerIdBytesMax = 2048;
export const callTokenBytesMax = 1536;
/** Live sessions per device; beyond it the one longest `issued` ends; if none is, 42901. */
export const callsPerDeviceMax = 4;
/** Live sessions per process; beyond it 42901. */
export const callsMax = 200_000;
/** Issuances and their answers remembered by signature while their date is within the clock window; full: 42901. About 1 KB each. */
export const issuancesKnownMax = 200_000;
/** Ended calls are remembered this long, and at most this many: the first to end is forgotten. About 500 bytes each. */
export const endedCallKnownMs = 10 * 60_000;
export const endedCallsKnownMax = 100_000;
/**
 * Orders to end a call by its room, remembered by signature while their date is within the clock window; full: 42901. About 500
 * bytes each.
 */
export const callEndsKnownMax = 200_000;
/** Connected tokens remembered per session; the oldest is forgotten, and may then connect only within its own lifetime. */
export const connectedTokensMax = 4;
/** Leases. Source: calls-and-media.md, Call sessions and call status. */
export const establishingLeaseMs = 35_000;
export const ringingGraceMs = 5_000;
export const connectedLeaseMs = 60_000;
/** An answer about a call waits at most this long for its commit; then 50000 or 50301. */
export const callCommitMsMax = 2000;
/** A bridge has this long to accept an assigned call. */
export const bridgeAnswerMsMax = 2000;
/** Calls refused for load that are offered again at each load report of a media process, oldest first; more wait for the next. */
export const loadOffersMax = 100;
/** Repeat window of a call's own wakeup: bridges that reconnect within it, at any member, do not wake the device again. */
export const callWakeupKnownMs = 300_000;
/** Controllers' rejections that wait for other members; beyond it one is counted and dropped. */
export const callRejectionsMax = 1000;
export const tokenKeysMax = 2;

/** Media legs. Source: calls-and-media.md, Legs. A larger message is answered with 1009. */
export const mediaMessageBytesMax = 1024 * 1024;
/** Text message of a leg; a larger one is also answered with 1009. */
export const mediaTextBytesMax = 16 * 1024;
/** TCP pieces of one WebSocket frame, and fragments of one message; beyond either 1008. */
export const mediaPiecesMax = 16 * 1024;
export const mediaFragmentsMax = 1024;
export const mediaFrameHeaderBytes = 12;
/** Unsent bytes for one slow leg; beyond it the leg is disconnected. */
export const legBacklogBytesMax = 256 * 1024;
/** Invalid messages of one leg, each answered with its fault; the last one closes the leg. */
export const legFaultsMax = 100;
/**
 * Per-leg rate limits; a leg that exceeds one is closed with 4429. Messages of every kind count, including empty ones, pings and
 * pongs: 60 frames and 100 audio packets a second fit, and so does the backlog of a network that stalled for 4 s. The burst also
 * bounds the messages that one leg has handled in one turn of the event loop. A call needs ten texts in all; bytes of texts
 * count against both rates. Bytes are those on the wire: 15 of the largest frames a second use half of that rate.
 */
export const legRatesMax = {
  messages: { perSecond: 250, burst: 1000 },
  texts: { perSecond: 5, burst: 150 },
  bytes: { perSecond: 32 * 1024 * 1024, burst: 64 * 1024 * 1024 },
} as const satisfies Record<string, Rate>;
/** A leg that sends nothing for this long, not even a pong, is considered gone. */
export const legSilenceMsMax = 16_000;
/** A leg that was sent a close, and stays, is disconnected after this. */
export const legLingerMsMax = 5000;
/**
 * Shares of `media.legs_max` for the device legs of one application and for the legs of one bridge: together they leave a fifth
 * to others. Beyond it a leg is answered 503.
 */
export const legsOfOwnerPart = 0.4;
/** Method, target and headers of a request, bytes. */
export const legRequestBytesMax = 4 * 1024;
/** Request body, which no request here needs and which is discarded; beyond it the connection is closed. */
export const legRequestBodyBytesMax = 16 * 1024;
/** Deadline of a connection's TLS handshake and request together. */
export const legRequestMsMax = 10_000;
/** Upgrade requests wait at most this long for admission; then 503. */
export const legAdmissionMsMax = 5000;
/** Lifetime of a ticket that lets one person watch a session, once. */
export const viewerTicketMsMax = 60_000;
export const viewerTicketsMax = 1000;
export const viewersPerSessionMax = 2;
/** Lifetime of the keys by which open pages query their session, and their number; the oldest is dropped. */
export const watchKeyMsMax = 30 * 60_000;
export const watchKeysMax = 256;

/** The media path. Finished JPEGs, or decoded pictures, that wait for a slow leg; the oldest is dropped. */
export const picturesWaitingMax = 2;
/** Coded frames, or their bytes, that wait for a leg or a decoder; beyond it all are dropped up to the next key frame. */
export const codedFramesWaitingMax = 30;
export const codedBytesWaitingMax = 1024 * 1024;
/**
 * Audio that waits for a leg: by timestamps, packets and bytes; the oldest is dropped, the newest stays. The bytes are 500 ms of
 * the widest format. Source: calls-and-media.md, Legs.
 */
export const audioWaitingMsMax = 500;
export const audioPacketsWaitingMax = 100;
export const audioBytesWaitingMax = 96_000;
/** Frame times kept per session, for the view of operators. */
export const frameTimesKeptMax = 256;
/** Minimum time between two requests for a key frame. */
export const keyFrameAskMsMin = 500;
/** Sides of a source frame; settings may lower it. Source: calls-and-media.md, Resolution. */
export const sourceSideMax = 4096;

/** Sessions per transcoding worker, regardless of load; a further one is refused. */
export const transcodersPerWorkerMax = 256;
/** Window over which the load of workers and sessions is measured. */
export const loadWindowMs = 5000;
/** A worker that has frames and answers none for this long hangs in native code and is abandoned. */
export const workerSilenceMsMax = 10_000;
/** Stopping waits this long for work in progress. */
export const workersStopMsMax = 3000;

/** Picture shapes for which a session's transcoder keeps a scaler and an encoder; the least recently used is dropped. */
export const pictureShapesKeptMax = 4;

/** The link between server and media process. Size of a message, and bytes that may wait; beyond it the link is cut. */
export const linkMessageBytesMax = 256 * 1024;
export const linkBacklogBytesMax = 8 * 1024 * 1024;
/**
 * Beyond this the media process defers its legs' messages: reports wait with their legs, new legs are answered 503, signs of
 * life and log lines are skipped. Heartbeats, counts, tallies and views still cross: less than 700 KiB a second (a tally is 10
 * KiB for 1024 frames). A server that is silent for `linkSilenceMsMax` is disconnected anyway: 4 MiB and 5 times that are below
 * the 8 MiB, whatever legs do and however many there are.
 */
export const linkCongestedBytes = 4 * 1024 * 1024;
/** Reports of one leg that wait for a congested link; a call has five; beyond it the oldest is dropped. */
export const legReportsWaitingMax = 8;
/**
 * Heartbeat interval of each end, kept even within a long turn of the event loop; a silent end is disconnected after the second
 * value.
 */
export const linkHeartbeatMs = 1000;
export const linkSilenceMsMax = 5000;
/** Minimum interval of a leg's signs of life on the link. */
export const legAliveMsMin = 1000;
/** Legs per message when a media process reports its legs. */
export const linkBroughtMax = 32;
/** A media process without its core keeps its legs this long, then closes them. */
export const mediaAwayMsMax = 10_000;
/** Ends of calls reported this shortly before the link ended are reported again: a core may not have committed them. */
export const legEndKnownMs = 2000;
/** Unanswered questions of the media process; beyond it a leg is answered 503. */
export const linkQuestionsMax = 10_000;
/** Admitted legs that have not connected yet; beyond it the first is forgotten. */
export const linkGrantsMax = 10_000;
/** Open legs per media process; beyond it a leg is closed as soon as it opens. */
export const linkLegsMax = 1_000_000;
/** Sessions viewed by operators at once, and the wait for one; beyond either there is no view. */
export const linkViewsMax = 100;
export const linkViewMsMax = 1000;
/** Interval of tallies, which are sent early when this many items have accumulated. */
export const linkTallyMs = 250;
export const linkTallyItemsMax = 1024;
/** Log lines of the media process per second, and characters per line; beyond it they are dropped and counted. */
export const linkLogLinesMax = 100;
export const linkLogCharactersMax = 16 * 1024;
/** Unauthenticated connections to the port of the link, and the deadline of their handshake. */
export const linkConnectionsMax = 16;
export const linkHandshakeMsMax = 10_000;
/** Per address; a remote media process has one connection. */
export const linkHandshakesPerAddressMax = 4;
/** A started media process has this long to listen, and this long to stop. */
export const mediaStartMsMax = 20_000;
export const mediaStopMsMax = 5000;
/** Within its time to stop, its legs have this long to close; then they are disconnected. */
export const mediaDrainMsMax = 2000;
export const mediaRestartMsMin = 250;
export const mediaRestartMsMax = 5000;

/** Long polling: GET /v1/events and the outcome of a wakeup. */
export const longPollSecondsMax = 30;
/** Concurrent readers of one kind, on this node and per application; full: 42901. */
export const readersMax = 20_000;
export const readersPerApplicationMax = 5_000;
/** Concurrent reads of the log by operators, in all and per operator; the next is answered 503. */
export const operatorsReadingMax = 64;
export const operatorReadingMax = 16;
export const eventsPageMax = 1000;
export const eventsPageDefault = 100;
/** JSON characters of the events in one page, which ends early at this size but holds at least one event. */
export const eventsPageCharactersMax = 1024 * 1024;
/** Events examined by one request when few of them are the caller's; `next` states where it stopped. */
export const eventsScannedMax = 50_000;
/** Latest events per device that are found without scanning the log. */
export const recentEventsOfDeviceMax = 16;

/** A slower connectivity query is answered 50401. Source: decisions.md, Connectivity. */
export const connectivityQueryMsMax = 2000;
/** Devices per batch of connectivity queries; more are 40003. */
export const batchDevicesMax = 500;
/** Concurrent batches, per member and per application at it; beyond it 42901. */
export const batchesMax = 128;
export const batchesPerApplicationMax = 32;
/** Devices looked up per turn of the event loop, all batches together: less than a millisecond at 3 µs each. */
export const batchDevicesPerTurn = 250;

/** Wakeups, and refused ones, shown to an operator for one request id. */
export const wakeupsShownMax = 100;

/** Retention of a wakeup's outcome. Source: events.md, Reading. */
export const wakeupKnownMs = 24 * 3600 * 1000;

/**
 * Requests of one listener answered per turn of the event loop; further answers come in the next turn, and a connection that has
 * sent another request by then is closed.
 */
export const answersPerTurnMax = 256;
/** Requests, and their bytes, held by a core that listens but does not serve yet; beyond it they are answered 503. */
export const heldRequestsMax = 10_000;
export const heldBytesMax = 64 * 1024 * 1024;
/** Deadline of a complete request body; then the connection is closed. */
export const bodyReadMsMax = 10_000;

/** Signed requests. The Authorization header, and the access key id in it. */
export const authorizationBytesMax = 4096;
export const accessKeyIdBytesMax = 128;
/** Parsed dates of signed requests kept: the whole clock window, in both directions. */
export const signingDatesMax = 1024;
/** Derived signing keys kept, least recently used dropped first: one per credential, day and path. */
export const signingKeysMax = 16_384;

/** Signature verification in the worker pool: number of batches, and capacity of one. */
export const hmacBatchesMax = 32;
export const hmacBatchJobsMax = 128;
export const hmacBatchBytesMax = 256 * 1024;

/** Several members. Source: cluster.md. Nodes at which a device may sleep; a further login replaces the oldest. */
export const sleepSlotsMax = 3;
/** Ends of a lost member's sessions kept in a device's row, per connection, until their events are published. */
export const failedOverSlotsMax = 3;
/** Interval of lease renewals, and lifetime of an unrenewed lease. */
export const leaseRenewMs = 3000;
export const leaseLostMs = 10_000;
/** Deadlines nest: a wakeup's write 1.0 s < the request to the owner 1.8 s < HTTP 2.5 s. */
export const ownerWakeMsMax = 1800;
/** Deadline of a write on another member's session, within the request to the owner. */
export const peerWriteMsMax = 1400;
export const wakeupAnswerMsMax = 2500;
/** Deadline of a query to the owner; then the record answers. */
export const ownerQueryMsMax = 1000;
/** An owner that is unreachable although its lease lives is asked once more after this. */
export const ownerRetryMs = 75;
/**
 * A device without a slot in the shared row may have just logged in: the other members are asked directly, for this long, at
 * this rate per application (all members together), and this many at once per member. Beyond it the row is trusted.
 */
export const memberSearchMsMax = 500;
export const memberSearchesPerSecondMax = 1000;
export const memberSearchesBurstMax = 2000;
export const memberSearchesMax = 1000;
/**
 * Interval and duration of repeated lookups of an unknown wakeup: another member may have answered it without having committed
 * it yet.
 */
export const wakeupRecallEveryMs = 25;
export const wakeupRecallMsMax = 1000;
/** Time of a message's way to the owner and back, in addition to `messageAckMsMax`. */
export const peerHopMsMax = 500;
/** Between members. Size of one message; and unanswered questions of one member, beyond which one is `unsent`. */
export const peerMessageBytesMax = 768 * 1024;
export const peerQuestionsMax = 20_000;
/** Bytes waiting for one member; beyond it notices are dropped and questions are `unsent`. */
export const peerBacklogBytesMax = 16 * 1024 * 1024;
/** Interval at which a member writes its heartbeats, and the number of parts. */
export const heartbeatsWriteMs = 30_000;
export const heartbeatsParts = 64;
/** A login waits this long for its epoch from the shared store; then it gets a provisional one. */
export const claimMsMax = 500;
/** Deadline of asking for the node of a device's calls, and attempts to claim it against competitors. */
export const callNodeMsMax = 800;
export const callClaimsMax = 5;
/** Lost calls kept in a device's row until the events of their ends are published. */
export const lostCallsMax = 16;
/** An orderly stop waits this long until other members can read this member's last writes. */
export const outboxDrainMsMax = 10_000;
/** A report about a login is sent to other members after this delay, so that the login has reached them. */
export const wakeReportHopMs = 1000;
/** A stopping core has this long in addition to its drain deadline; then it is killed. */
export const processStopMsMax = 20_000;
/** An operator's query for wakeups waits this long for a member; then the answer omits it and names it as silent. */
export const memberViewMsMax = 1000;

/** The audit log: size at which a file is rotated, and rotated files kept; the oldest is deleted. */
export const auditFileBytesMax = 16 * 1024 * 1024;
export const auditOldFilesMax = 7;
/** Characters of one id in a line, and items of a list other than device ids; the rest is cut, marked by an ellipsis. */
export const auditTextCharactersMax = 256;
export const auditListItemsMax = 16;
/** Space reserved for a line's result, so that a full disk cannot hide the outcome of a change. */
export const auditOutcomeBytes = 512;
/** Concurrent audited changes; a further one is refused. */
export const auditedAtOnceMax = 64;
/** A reader that follows the audit log waits this long for the result of a change. */
export const auditResultMsMax = 60_000;
/** Named tokens of operators; a further one is refused. */
export const opsTokensMax = 64;
/** Minimum interval between log lines about wrong credentials at the ops listener, and about refused logins of one reason. */
export const refusalLogMs = 60_000;

/**
 * Refused logins remembered by the core, one row per device, port and reason: of registered devices, in all and per application;
 * beyond either the oldest is forgotten.
 */
export const refusedLoginsMax = 5000;
export const refusedLoginsPerApplicationMax = 500;
/** Rows of ids outside the registry, which cost a stranger nothing: in all and per address. */
export const unknownLoginsMax = 1000;
export const unknownLoginsPerAddressMax = 100;
export const refusedLoginsShownMax = 1000;
/** Minimum interval between writes of a token's last use. */
export const opsTokenUseWriteMs = 60_000;

/** Devices reviewed per turn of the event loop after a registry change: about 2 ms, at 4 µs for each that is not in memory. */
export const reviewWorkPerTurn = 500;
/** Pause between two such turns; a device that lost its right is disconnected well within a second. */
export const reviewPauseMs = 200;
