/** Limits of the logs of a cluster, and what full means. Source: cluster.md, Registry and Events. */

/** Messages of a mirrored stream that wait to be written here; beyond it no more are asked for. */
export const tailMessagesMax = 8000;
/** Of the event log, in one commit. */
export const eventsPerCommitMax = 1000;
/** A stream that could not be followed is tried again after this. */
export const tailRetryMs = 500;
/** A consumer that shows no life for twice this long is made again. */
export const tailHeartbeatMs = 2000;
/** Messages of which a stream says that they are to come, and of which none has come for so long, are asked after. */
export const tailQuietMs = 500;
/** A mirror that is far behind says how far it is, this often. */
export const tailProgressMs = 5000;

/** Devices whose newest event is known here without asking; beyond it the one not used for longest is asked for. */
export const newestEventsKnownMax = 200_000;
/** An event is published so often against others who write of its device, this far apart at most. */
export const publishAttemptsMax = 20;
export const publishJitterMsMax = 20;
/** An event younger than this is known to the stream by its id, when it is told twice: half of its duplicate window. */
export const duplicateSafeMs = 60_000;
/** An event that was stored so long before another one was made cannot be that one, whatever the clocks of machines say. */
export const clockSkewMsMax = 60_000;
/** Of a device's events behind what is mirrored, so many are looked at for one that may have been told before. */
export const eventsLookedAtMax = 64;

/** Registry changes on their way to the bucket, and those of it that are written here in one commit. */
export const registrySharingMax = 4000;
export const registryPerCommitMax = 4000;

/** Sharing that failed is tried again after this. */
export const registryRetryMs = 1000;

/** Values of the webhooks' shared delivery store on their way. */
export const deliveryPutsMax = 512;
/** A holder that could not renew for so long stops: before others may call it gone. */
export const webhookLeaseMs = 6000;
/** A reader of events whose cursor is ahead waits so long for how far the stream has come. */
export const streamLastMsMax = 800;
/** One answer of NATS, for what nobody waits for at an API. */
export const bucketAnswerMsMax = 3000;
/** Of the newest events of all devices, so many are looked at for the end of a call, a slice in each turn of the loop. */
export const callEndsLookedAtMax = 10_000;
export const callEndsSlice = 500;
