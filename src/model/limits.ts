/**
 * Fixed bounds: those of the wire and of memory that no deployment needs to move. What a deployment may
 * move is a setting (server/settings). Each name says what is bounded and in which unit.
 */

import type { Rate } from '../lib/token-bucket.ts';

/** Source: API doc, Limits. */
export const deviceIdBytesMax = 255;
export const requestIdBytesMax = 128;
/** An application's, product's or bridge's id. */
export const registryIdBytesMax = 255;
export const bodyBytesMax = 64 * 1024;

/** Sleep wire. Source: sleep-wire.md, Exchange and Refusals. */
export const loginLineBytesMax = 1024;
export const heartbeatSecondsMin = 5;
export const heartbeatSecondsMax = 3600;
/** Sleep servers that a product names, and the longest waits between attempts that it asks for. */
export const productSleepServersMax = 8;
export const productRetryMinSecondsMax = 3600;
export const productRetrySecondsMax = 86_400;
/** A session ends after this many heartbeat intervals of silence. */
export const heartbeatsMissedMax = 3;

/** Messages that wait in one device's mailbox behind the one being handled; beyond it a message is refused. */
export const mailboxMessagesMax = 64;
/** Wakeups that wait on one connection for an earlier packet to leave; beyond it 42901. */
export const wakeupsWaitingMax = 8;
/** Sockets the sleep port may hold beside its full number of sessions, so that the next logins can be answered. */
export const handshakeSocketsReserved = 256;
/** A module that was told why it is refused has this long to read it and hang up; what it still sends is thrown away up to a bound. */
export const refusalLingerMsMax = 1000;
export const refusalDiscardBytesMax = 64 * 1024;
/** One address may hold this part of the admission queue. */
export const admissionQueueShareMax = 0.5;
/** A PROXY protocol header, its TLVs included. */
export const proxyHeaderBytesMax = 4096;
/** Descriptors kept back from the sleep port: API, ops, store, logs. Source: decisions.md, File descriptors. */
export const descriptorsReserved = 1024;
/**
 * Of these, what the API and the operators' listener may always hold; beside them stand the link to a media process and the
 * sockets of logins under way at the sleep and the signal port, and the descriptors of store, log and threads.
 */
export const apiConnectionsReserved = 256;
export const opsConnectionsReserved = 64;
/** Of the descriptors that devices may hold, the part that either of the two may take beyond what is reserved for it. */
export const httpPoolShareMax = 0.25;
/** What the front end's library reads of a socket at once; as long as that is full, it reads on. */
export const frontEndReadBytes = 512 * 1024;
/** Addresses whose unproven connections to one listener are counted; those of others are not bounded. */
export const addressesCountedMax = 20_000;

/** Signal wire. Source: signal-wire.md. */
/** A message of a controller; a larger one is answered with 1009 as soon as its length is known, and never kept. */
export const signalMessageBytesMax = 16 * 1024;
/** Of the JSON text of the capabilities in a login. */
export const signalMediaBytesMax = 2 * 1024;
/** How often a controller is told to send; it is offline after `heartbeatsMissedMax` of them. */
export const signalHeartbeatSeconds = 30;
/** What may wait to be sent to one controller that does not read; beyond it its connection is reset. */
export const signalBackpressureBytesMax = 256 * 1024;

/**
 * Messages, pings and pongs of one controller, a second and at once; and its reports, which cost more. Beyond either its
 * connection is closed with 4429. Before its login it may ping so often.
 */
export const signalMessagesPerSecondMax = 10;
export const signalMessagesBurstMax = 100;
/** Reports of wakes and rejections of calls together. */
export const controllerReportsPerSecondMax = 1;
export const controllerReportsBurstMax = 10;
export const signalHandshakePingsMax = 16;

/** A message to a device: its payload's JSON text, its name, how many wait for one device, and for how long. */
export const messagePayloadBytesMax = 8 * 1024;
export const messageNameCharactersMax = 64;
/** Objects and arrays within one another in a payload: far above what is sent, far below what overflows a stack. */
export const messagePayloadDepthMax = 500;
export const messagesWaitingMax = 16;
export const messageAckMsMax = 5000;
/** Messages by signature, known while their date is within the clock window; full is 42901. */
export const messagesKnownMax = 1_000_000;
/** How long a message may wait for the device that it wakes, unless its caller says so. */
export const wakingSecondsDefault = 20;
/** Messages of one member that wait for a device to wake, in all and of one application; beyond either 42901. */
export const wakingMessagesMax = 10_000;
export const wakingMessagesPerApplicationMax = 2_500;

/** Wake outcomes. Source: events.md. A signal login this long after a wakeup completes it; then it is expired. */
export const wakeupToOnlineMsMax = 60_000;
/** A session reset this soon after the write has failed it, unless the device is online within the grace. */
export const wakeupResetMsMax = 10_000;
export const wakeupResetGraceMs = 5_000;
/** Wakeups of one process whose outcome is awaited, or whose cause may still be reported; beyond it 42901. */
export const wakeupsWatchedMax = 1_000_000;
/** Completed wakeups of one device whose cause may still be reported, and for how long; the oldest is given up. */
export const wakeupsReportableMax = 16;
export const wakeupReportMsMax = 60_000;
/** How long the answer about a wakeup may wait for the commit of what it says; then 50301. */
export const wakeupOutcomeCommitMsMax = 2000;

/** Calls. Source: calls-and-media.md, Credential issuance. */
export const callTextBytesMax = 1024;
export const roomIdBytesMax = 127;
/** `msg_app_id` and `msg_model_id`. */
export const msgIdCharactersMax = 63;
/** `msg_payload`; the spec sets none beside the body's. */
export const callPayloadBytesMax = 16 * 1024;
export const callingTimeoutSecondsMax = 3600;
export const callingTimeoutSecondsDefault = 30;
export const screenSideMax = 16_384;
/** Pixels of a picture that is made for a screen; a larger screen is filled with none. */
export const picturePixelsMax = 4096 * 4096;
/** A session that nobody connected to, and the first connect of a token, live this long past the ring timeout. */
export const callIssuedGraceS = 60;
export const peerIdBytesMax = 2048;
export const callTokenBytesMax = 1536;
/** Live sessions of a device; beyond it the one longest `issued` ends, and with none of those it is 42901. */
export const callsPerDeviceMax = 4;
/** Live sessions of a process; beyond it 42901. */
export const callsMax = 200_000;
/** Issuances by signature with their answers, known while their date is within the clock window; full is 42901. About 1 KB each. */
export const issuancesKnownMax = 200_000;
/** Calls that have ended are known for so long, and at most so many: the first to end is forgotten. About 500 bytes each. */
export const endedCallKnownMs = 10 * 60_000;
export const endedCallsKnownMax = 100_000;
/** Ends by room, known by signature while their date is within the clock window; full is 42901. About 500 bytes each. */
export const callEndsKnownMax = 200_000;
/** Tokens remembered as connected; the oldest is forgotten, and may then connect within its own time only. */
export const connectedTokensMax = 4;
/** Leases. Source: calls-and-media.md, Call sessions and call status. */
export const establishingLeaseMs = 35_000;
export const ringingGraceMs = 5_000;
export const connectedLeaseMs = 60_000;
/** How long an answer about a call may wait for the commit of what it says; then 50000 or 50301. */
export const callCommitMsMax = 2000;
/** A bridge that is asked to take a call has this long to accept. */
export const bridgeAnswerMsMax = 2000;
/** Calls refused for load that are offered again each time a media process tells its load, oldest first; more wait for the next. */
export const loadOffersMax = 100;
/** For how long a call's own wakeup is known: however its bridges come meanwhile, wherever, it is one. */
export const callWakeupKnownMs = 300_000;
/** Rejections by controllers that wait for other members; beyond it one is counted and let go. */
export const callRejectionsMax = 1000;
/** Signing keys of tokens that are live at once. */
export const tokenKeysMax = 2;

/** Media legs. Source: calls-and-media.md, Legs. A message beyond it is answered with 1009. */
export const mediaMessageBytesMax = 1024 * 1024;
/** A text message of a leg; beyond it, too, 1009. */
export const mediaTextBytesMax = 16 * 1024;
/** Pieces that one frame comes in off the wire, and fragments that its sender makes of a message; beyond either 1008. */
export const mediaPiecesMax = 16 * 1024;
export const mediaFragmentsMax = 1024;
export const mediaFrameHeaderBytes = 12;
/** What may wait to be sent to one leg that does not read; beyond it the leg is cut. */
export const legBacklogBytesMax = 256 * 1024;
/** Messages of one leg that are not understood, each answered by what is wrong with it; with the last of them it is closed. */
export const legFaultsMax = 100;
/**
 * What a leg may send, by rates with a burst; beyond any of them it is closed with 4429. Messages of every kind count,
 * empty ones, pings and pongs too: 60 frames and 100 audio packets a second fit, and so does what 4 s of a network that
 * stood still hand over at once. The burst is also the most that one leg has handled in one turn of the loop. A call
 * takes ten texts in all; the bytes of texts are within the rates of texts and of bytes. Bytes are those off the wire:
 * 15 of the largest frames a second are half of them.
 */
export const legRatesMax = {
  messages: { perSecond: 250, burst: 1000 },
  texts: { perSecond: 5, burst: 150 },
  bytes: { perSecond: 32 * 1024 * 1024, burst: 64 * 1024 * 1024 },
} as const satisfies Record<string, Rate>;
/** A leg that sends nothing for so long, not even the pong that it is asked for, is gone. */
export const legSilenceMsMax = 16_000;
/** A leg that was told to go, and stays, is cut after it. */
export const legLingerMsMax = 5000;
/**
 * The parts of `media.legs_max` that the device legs of one application, and the legs of one bridge, may have: both together
 * leave a fifth to others. Beyond it a leg is answered 503.
 */
export const legsOfOwnerPart = 0.4;
/** Of the head of a request: method, target and headers. */
export const legRequestBytesMax = 4 * 1024;
/** Of a body, which no request here needs and which is thrown away; beyond it the connection is cut. */
export const legRequestBodyBytesMax = 16 * 1024;
/** A connection has this long for its TLS handshake and its request together, however it sends them. */
export const legRequestMsMax = 10_000;
/** Who asks to be let in waits no longer than this for the answer; then 503. */
export const legAdmissionMsMax = 5000;
/** A ticket that lets one person watch a session, once. */
export const viewerTicketMsMax = 60_000;
export const viewerTicketsMax = 1000;
export const viewersPerSessionMax = 2;
/** Keys by which open pages ask how their session goes: how long one is good, and how many there are; the oldest goes. */
export const watchKeyMsMax = 30 * 60_000;
export const watchKeysMax = 256;

/** The media path. Finished JPEGs, or decoded pictures, that wait for a leg that does not keep up; the oldest goes. */
export const picturesWaitingMax = 2;
/** Coded frames that wait for a leg or a decoder, or as many bytes; beyond it all go, up to the next key frame. */
export const codedFramesWaitingMax = 30;
export const codedBytesWaitingMax = 1024 * 1024;
/**
 * Audio that waits for a leg, by its timestamps, and packets and bytes at most; the oldest goes, the newest stays. The bytes
 * are those of 500 ms in the widest format. Source: calls-and-media.md, Legs.
 */
export const audioWaitingMsMax = 500;
export const audioPacketsWaitingMax = 100;
export const audioBytesWaitingMax = 96_000;
/** The last frames of a session whose times are kept, for the view of operators. */
export const frameTimesKeptMax = 256;
/** A key frame is not asked for again sooner. */
export const keyFrameAskMsMin = 500;
/** Sides of a source frame; settings may ask for less. Source: calls-and-media.md, Resolution. */
export const sourceSideMax = 4096;

/** Sessions of one transcoding worker, however small their load; another is refused. */
export const transcodersPerWorkerMax = 256;
/** Over how long the load of workers and sessions is measured. */
export const loadWindowMs = 5000;
/** A worker that has frames and answers none of them for so long hangs in native code and is abandoned. */
export const workerSilenceMsMax = 10_000;
/** The end of the workers waits so long for what they still do. */
export const workersStopMsMax = 3000;

/** Shapes of pictures that a session's transcoder keeps a scaler and an encoder for; the one not used for longest goes. */
export const pictureShapesKeptMax = 4;

/** The link between the server and its media process. A message of it, and what may wait to be sent; beyond it the link is cut. */
export const linkMessageBytesMax = 256 * 1024;
export const linkBacklogBytesMax = 8 * 1024 * 1024;
/**
 * Beyond so much of it the media process says nothing more for its legs: reports wait with their legs, nobody is let in
 * (503), signs of life and lines of the log are left out. What still crosses, heartbeats, counts, tallies and views, is less
 * than 700 KiB a second (a tally is 10 KiB for 1024 frames), and a server that is silent for `linkSilenceMsMax` is given
 * up anyway: 4 MiB and 5 times that are less than the 8 MiB, whatever legs do and however many there are.
 */
export const linkCongestedBytes = 4 * 1024 * 1024;
/** Reports of one leg that wait for such a link; a call has five, and beyond it the oldest goes. */
export const legReportsWaitingMax = 8;
/** Each end shows so often that it lives, also within a turn that lasts, and is given up when nothing came for so long. */
export const linkHeartbeatMs = 1000;
export const linkSilenceMsMax = 5000;
/** A leg's signs of life cross the link no oftener than this. */
export const legAliveMsMin = 1000;
/** Legs in one message that brings them. */
export const linkBroughtMax = 32;
/** A media process whose core is away keeps its legs so long; then they are sent away. */
export const mediaAwayMsMax = 10_000;
/** The end of a call that was reported within this time before the link ended is reported again: no core may have committed it. */
export const legEndKnownMs = 2000;
/** Questions of the media process that are not answered yet; beyond it a leg is answered 503. */
export const linkQuestionsMax = 10_000;
/** Legs that were let in and have not come yet: beyond so many the first of them is forgotten. */
export const linkGrantsMax = 10_000;
/** Legs that one media process has open; beyond it one is closed as soon as it is opened. */
export const linkLegsMax = 1_000_000;
/** Sessions that operators ask to see at once, and for how long one is waited for; beyond either there is nothing to see. */
export const linkViewsMax = 100;
export const linkViewMsMax = 1000;
/** What is counted crosses this often, and at once when so many logins or times have come together. */
export const linkTallyMs = 250;
export const linkTallyItemsMax = 1024;
/** Lines of the media process's log that cross in a second, and the text of one; beyond it they are lost, and counted. */
export const linkLogLinesMax = 100;
export const linkLogCharactersMax = 16 * 1024;
/** Connections to the port of the link that have not shown the key, and how long each has for it, however it sends it. */
export const linkConnectionsMax = 16;
export const linkHandshakeMsMax = 10_000;
/** Of one address; a media process elsewhere has one connection. */
export const linkHandshakesPerAddressMax = 4;
/** A media process that was started has this long until it listens, and to end when it is told to. */
export const mediaStartMsMax = 20_000;
export const mediaStopMsMax = 5000;
/** Within the time it has to end, its legs have this long to go when they are told to; then they are cut. */
export const mediaDrainMsMax = 2000;
export const mediaRestartMsMin = 250;
export const mediaRestartMsMax = 5000;

/** GET /v1/events and the outcome of a wakeup. */
export const longPollSecondsMax = 30;
/** Readers of one kind at once, waiting or not, on this node and of one application; full is 42901. */
export const readersMax = 20_000;
export const readersPerApplicationMax = 5_000;
/** Reads of the log by operators at the same time, waiting or not, in all and of one operator; the next is answered 503. */
export const operatorsReadingMax = 64;
export const operatorReadingMax = 16;
export const eventsPageMax = 1000;
export const eventsPageDefault = 100;
/** Of the events' JSON text in one page, which ends early rather than be larger; one event is always in it. */
export const eventsPageCharactersMax = 1024 * 1024;
/** Events that one request looks at when few of them are the caller's; `next` says where it stopped. */
export const eventsScannedMax = 50_000;
/** The latest events of a device that are found without a walk through the log. */
export const recentEventsOfDeviceMax = 16;

/** A connectivity query that takes longer is answered 50401. Source: decisions.md, Connectivity. */
export const connectivityQueryMsMax = 2000;
/** Devices of one batch of connectivity queries; more are 40003. */
export const batchDevicesMax = 500;
/** Batches under way at once, of one member and of one application at it; beyond it 42901. */
export const batchesMax = 128;
export const batchesPerApplicationMax = 32;
/**
 * Devices of all batches that are looked at within one turn of the event loop; the next are in the next one. Less than a
 * millisecond at 3 µs each.
 */
export const batchDevicesPerTurn = 250;

/** Wakeups, and refused ones, that an operator is shown of one request id. */
export const wakeupsShownMax = 100;

/** How long the outcome of a wakeup is known. Source: events.md, Reading. */
export const wakeupKnownMs = 24 * 3600 * 1000;

/**
 * Requests of one listener that are answered within one turn of the event loop; beyond it the answer comes in the next, and
 * a connection that has sent another request by then is closed.
 */
export const answersPerTurnMax = 256;
/** Requests that a core holds which listens and does not serve yet, and their bytes; beyond that they are answered 503. */
export const heldRequestsMax = 10_000;
export const heldBytesMax = 64 * 1024 * 1024;
/** A request body that is not whole after this is given up with its connection. */
export const bodyReadMsMax = 10_000;

/** Signed requests. The Authorization header, and the access key id in it. */
export const authorizationBytesMax = 4096;
export const accessKeyIdBytesMax = 128;
/** Dates of signed requests kept parsed: those of the whole clock window, both ways. */
export const signingDatesMax = 1024;
/** Derived signing keys kept at once, least recently used out first: one a credential, day and path. */
export const signingKeysMax = 16_384;

/** Signatures on their way through the worker pool: batches there are, and what one of them holds. */
export const hmacBatchesMax = 32;
export const hmacBatchJobsMax = 128;
export const hmacBatchBytesMax = 256 * 1024;

/** Several members. Source: cluster.md. Nodes that a device may sleep at; the login of one more takes the oldest's slot. */
export const sleepSlotsMax = 3;
/** Ends of a lost member's sessions that a device's row keeps, each connection its own, for whoever has to tell them again. */
export const failedOverSlotsMax = 3;
/** How often a member renews its lease, and for how long it counts without. */
export const leaseRenewMs = 3000;
export const leaseLostMs = 10_000;
/** Deadlines nest: a wakeup's write 1.0 s < the request to the owner 1.8 s < HTTP 2.5 s. */
export const ownerWakeMsMax = 1800;
/** The write on a session of another member, within the request to the owner. */
export const peerWriteMsMax = 1400;
export const wakeupAnswerMsMax = 2500;
/** An owner that does not answer a query within this is not waited for: the record answers. */
export const ownerQueryMsMax = 1000;
/** An owner that nobody answers for, though its lease lives, is asked once more after this. */
export const ownerRetryMs = 75;
/**
 * A device that the shared row has nowhere is sought at the other members themselves, for so long: it may have logged in just
 * now. For one application so often, by all members together, and so many at once by one; beyond it the row is believed.
 */
export const memberSearchMsMax = 500;
export const memberSearchesPerSecondMax = 1000;
export const memberSearchesBurstMax = 2000;
export const memberSearchesMax = 1000;
/** An unknown wakeup is looked up again so often, for so long: another member may have answered it, and not committed it yet. */
export const wakeupRecallEveryMs = 25;
export const wakeupRecallMsMax = 1000;
/** A message's acknowledgement comes within `messageAckMsMax`; its way there and back has this beside it. */
export const peerHopMsMax = 500;
/** Between members. One message; questions of one member that are not answered yet, beyond them `unsent`. */
export const peerMessageBytesMax = 768 * 1024;
export const peerQuestionsMax = 20_000;
/** What may wait to be sent to one member; beyond it what is told is dropped and what is asked is `unsent`. */
export const peerBacklogBytesMax = 16 * 1024 * 1024;
/** How often a member writes its heartbeats down, and how many parts that is. */
export const heartbeatsWriteMs = 30_000;
export const heartbeatsParts = 64;
/** A login waits so long for its epoch in what all share; then it gets a provisional one. */
export const claimMsMax = 500;
/** The node of a device's calls is asked for so long, and claimed so often against others that claim them. */
export const callNodeMsMax = 800;
export const callClaimsMax = 5;
/** Calls that ended with their nodes, kept in a device's row until the event of each end is published. */
export const lostCallsMax = 16;
/** An orderly stop waits so long until others see what this member has written last. */
export const outboxDrainMsMax = 10_000;
/** Other members know of a login this long after it, a report of which is told to them then. */
export const wakeReportHopMs = 1000;
/** A core that is told to stop has so long beside the deadline of its drain; then it is killed. */
export const processStopMsMax = 20_000;
/** A member is waited for so long when an operator asks for wakeups; then it is left out, and said to be silent. */
export const memberViewMsMax = 1000;

/** The audit log: the size at which a file is rotated, and how many rotated ones are kept; the oldest is deleted. */
export const auditFileBytesMax = 16 * 1024 * 1024;
export const auditOldFilesMax = 7;
/** Text in one of a line's ids, and items of a list but of device ids; more is cut, and ends with an ellipsis. */
export const auditTextCharactersMax = 256;
export const auditListItemsMax = 16;
/** Room that a line keeps for its result, so that a full disk cannot hide how a change ended. */
export const auditOutcomeBytes = 512;
/** Changes under way at the same time; another one is refused. */
export const auditedAtOnceMax = 64;
/** A follower of the audit log waits so long for the result of a change. */
export const auditResultMsMax = 60_000;
/** Named tokens of operators; another one is refused. */
export const opsTokensMax = 64;
/** Wrong credentials at the ops listener, and refused logins of one reason, are logged at most this often. */
export const refusalLogMs = 60_000;

/**
 * Refused logins that the core remembers: a row for each device, port and reason. Rows of devices in the registry, and those of
 * one application; beyond either the oldest is forgotten.
 */
export const refusedLoginsMax = 5000;
export const refusedLoginsPerApplicationMax = 500;
/** Rows of ids that the registry does not have, which cost a stranger nothing, and those from one address. */
export const unknownLoginsMax = 1000;
export const unknownLoginsPerAddressMax = 100;
/** Rows of one answer to an operator. */
export const refusedLoginsShownMax = 1000;
/** The last use of a token is written at most this often. */
export const opsTokenUseWriteMs = 60_000;

/** Devices that one turn of the loop looks up after the registry changed: about 2 ms, at 4 µs each that is not in memory. */
export const reviewWorkPerTurn = 500;
/** Between two such walks; with the walk itself far below the second within which who lost the right is to be gone. */
export const reviewPauseMs = 200;
