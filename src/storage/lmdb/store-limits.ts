/** Limits of the store. Limits that a deployment may change are settings, handed to the constructors. */

/** Maximum size of one entry of a registry file: a line of NDJSON, or an object in a list of a document. */
export const registryEntryBytesMax = 64 * 1024;
/** Bytes of a registry file in memory while it is read. */
export const registryWindowBytes = 1024 * 1024;
/** Maximum size of a text field of an entry, bytes of UTF-8. */
export const registryNameBytesMax = 255;
/** Webhook URLs are part of a key, and a key has at most 1978 bytes. */
export const webhookUrlBytesMax = 1024;
export const webhookTypeBytesMax = 64;
/** Maximum applications of a product or bridge, and types of a webhook. */
export const registryListItemsMax = 1000;
/** Maximum entries of an import that precede what they refer to; beyond it the import is rejected. */
export const referencesAheadMax = 100_000;
/** Maximum cached references that exist; beyond it they are looked up again. */
export const referencesKnownMax = 10_000;
/** Share of each kind that an import may delete without confirmation, and the deleted ids of each kind in its report. */
export const deletedShareMax = 0.1;
export const deletedShownMax = 5;
/** Referring ids of each kind that the refusal of a removal lists. */
export const usersShownMax = 3;
/** Entries between two progress reports of an import, which also check for cancellation. */
export const importProgressEntries = 20_000;
/** Maximum hashes of imported files kept to skip unchanged ones; the oldest import is dropped first. */
export const importedFilesMax = 16;
export const exportChunkChars = 64 * 1024;

/** Decoded entries in the LRU caches. */
export const credentialsCachedMax = 10_000;
/** About 10 MB when full; other devices are read from the memory map. */
export const devicesCachedMax = 32_768;
export const productsCachedMax = 10_000;
/** Maximum bridges found by key, about 40 MB; if the registry has more, none is accepted. */
export const bridgesKnownMax = 100_000;

/** Journal entries per commit: with their events about 5 ms of the loop. */
export const commitWritesMax = 500;
/**
 * Uncommitted entries in memory: 0.5 KB for a login or session end, 1 KB for a wakeup. Beyond the first limit, devices without a
 * session cannot log in (`busy`); beyond the second, wakeups are also answered with 42901 and calls with 50301.
 */
export const loginsBacklogMax = 250_000;
export const backlogMax = 500_000;
/** Time that a stop waits for a store that refuses commits, for example on a full disk. */
export const stopBacklogMsMax = 10_000;
/** Size of the probe that a disk must accept before a refused commit is retried. */
export const diskProbeBytes = 256 * 1024;
export const commitRetryMs = 1000;
/**
 * More than a journal transaction adds to a file. A transaction closer to the end of the map begins only if the map can grow: a limit
 * of the address space must leave this and twice the map, because the rest of the process needs some, too.
 */
export const mapGrowthBytesMax = 256 * 1024 * 1024;
/** Interval of the checks whether an unlimited address space has a limit now: a check takes longer than a commit. */
export const addressLimitMs = 1000;
/** Entries of a large transaction between two checks of the map. */
export const mapCheckEntries = 200;
/**
 * Time limits of the search for damage: by a start, by a start after a crash, and by the doctor. Devices wait for a start, and a
 * failing one has 2 s.
 */
export const damageWalkMsMax = 300;
export const damageWalkAfterCrashMsMax = 1000;
export const damageWalkOfDoctorMsMax = 30_000;
/** Additional time for the reading process to start and end. */
export const damageWalkStartMsMax = 5000;
/** Turns of the loop between two commits of a busy journal, and their maximum duration; fewer turns when a caller awaits an entry. */
export const turnsBetweenMax = 64;
export const betweenMsMax = 8;
export const waitedTurnsMax = 8;
/**
 * Time that entries collect when no caller awaits them: a commit for each wakeup would be most of its cost. A crash within this time
 * forgets that a 202 was answered.
 */
export const collectMsMax = 20;
/** Maximum entries that collect; a larger batch would delay a caller. */
export const collectedMax = 32;
/** Open sessions closed between two waits for the store, after a crash. */
export const closeSessionsSlice = 10_000;

/** Known wakeups removed between two waits for the store, and the interval of these removals. */
export const forgetWakeupsSlice = 500;
export const forgetWakeupsMs = 1000;

/** Newest events in memory, about 8 MB; an event counts once more for each `recentEventCharacters` of its capabilities. */
export const recentEventsMax = 2048;
export const recentEventCharacters = 256;
/** Mirrored events published to followers per turn of the loop. */
export const refreshLogSlice = 500;
/** Registry notices appended to the log at once, and the time until a refused append is retried. */
export const noticesSlice = 500;
export const noticesRetryMs = 1000;
export const noticesStopMsMax = 10_000;
/** Maximum registry notices that wait for the log; beyond it the API rejects device changes with 50301. */
export const noticesWaitingMax = 100_000;

/** Share of a log that is removed for its age per minute; more if the retention is shorter than 200 minutes. */
export const forgottenShareMax = 0.01;

/** Events removed between two waits for the store, and the interval of these removals. */
export const forgetEventsSlice = 500;
export const forgetEventsMs = 1000;

/** Mirrored events and registry entries put between two waits for the store; fewer events than `refreshLogSlice`. */
export const mirrorEventsSlice = 400;
export const mirrorEntriesSlice = 1000;
/** Shared registry entries checked between two turns of the loop: about 2 ms of it. */
export const mirrorCheckSlice = 250;

/** Attempts to begin a snapshot of all files, one per turn of the loop; each fails if a file was committed meanwhile. */
export const snapshotTriesMax = 2000;
export const backupPieceBytes = 1024 * 1024;
/** Rows of a backup written between two turns of the loop. */
export const restoredRowsSlice = 5000;
/** Free disk space for a restore, as a factor of the backup's size: pages of a store are not full. */
export const restoredRoomFactor = 1.5;
/** Time limit to read the store of a backup in a verification: about 100 million rows. */
export const damageWalkOfBackupMsMax = 3_600_000;
