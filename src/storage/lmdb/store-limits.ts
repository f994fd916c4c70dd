/** Limits of the store, and what full means. What a deployment may move is a setting handed to the constructors. */

/** One entry of a registry file: a line of NDJSON, an object in a list of a document. Longer is an error. */
export const registryEntryBytesMax = 64 * 1024;
/** What is held of a registry file while it is read. */
export const registryWindowBytes = 1024 * 1024;
/** Text fields of an entry, in bytes of UTF-8. */
export const registryNameBytesMax = 255;
/** Part of a key, and a key of the store ends at 1978 bytes. */
export const webhookUrlBytesMax = 1024;
export const webhookTypeBytesMax = 64;
/** Applications in one product or bridge, types in one webhook. */
export const registryListItemsMax = 1000;
/** Entries of one import that may come before what they refer to; beyond it the import is refused. */
export const referencesAheadMax = 100_000;
/** References already seen to exist; beyond it they are looked up again. */
export const referencesKnownMax = 10_000;
/** Of each kind, what an import may delete that nobody has confirmed; and the ids of each kind that its report names. */
export const deletedShareMax = 0.1;
export const deletedShownMax = 5;
/** Of what refers to an entry that is to be removed, the ids of each kind that the refusal names. */
export const usersShownMax = 3;
/** An import says how far it is, and looks whether it was cancelled, after each so many entries. */
export const importProgressEntries = 20_000;
/** Files whose hash is remembered so that an unchanged one is skipped; the one imported longest ago is forgotten. */
export const importedFilesMax = 16;
/** An export is handed on in pieces of about this size. */
export const exportChunkChars = 64 * 1024;

/** Decoded entries kept in memory, least recently used out first. */
export const credentialsCachedMax = 10_000;
/** About 10 MB when full; the devices beyond it are read from the memory map. */
export const devicesCachedMax = 32_768;
export const productsCachedMax = 10_000;
/** Bridges that can be known by their keys, about 40 MB; with more of them in the registry none is let in. */
export const bridgesKnownMax = 100_000;

/** Entries of the journal handed to the store at once: with their events about 5 ms of the loop. */
export const commitWritesMax = 500;
/**
 * Entries in memory that the store has not taken: 0.5 KB for a login or its end, 1 KB for a wakeup. Beyond the first no device
 * logs in that has no session (`busy`); beyond the second wakeups are answered 42901 and calls 50301, too.
 */
export const loginsBacklogMax = 250_000;
export const backlogMax = 500_000;
/** A store that takes nothing, a full disk, must not keep a server from stopping. */
export const stopBacklogMsMax = 10_000;
/** What a disk has to take before a store that it refused is tried again. */
export const diskProbeBytes = 256 * 1024;
/** A store that refused a commit is asked again after this. */
export const commitRetryMs = 1000;
/**
 * More than a transaction of the journal makes a file longer by; one whose file is nearer to the end of its map is begun only
 * where the map can grow. A limit of the address space has to leave that, and twice the map: the rest of the process needs some, too.
 */
export const mapGrowthBytesMax = 256 * 1024 * 1024;
/** How often a process whose address space has no limit looks whether it has one now: a look takes longer than a commit. */
export const addressLimitMs = 1000;
/** A transaction that puts more looks for room of the map after so many entries. */
export const mapCheckEntries = 200;
/**
 * How long a store is read to see whether it is damaged: by a start, by one behind a crash, and by the doctor. Devices wait
 * for a start, and one that fails has 2 s.
 */
export const damageWalkMsMax = 300;
export const damageWalkAfterCrashMsMax = 1000;
export const damageWalkOfDoctorMsMax = 30_000;
/** What the process that reads has beside that, to come up and go. */
export const damageWalkStartMsMax = 5000;
/**
 * Turns of the loop that a journal in demand lets pass between two commits, but no longer than so many milliseconds; fewer
 * where somebody waits for what goes next, instead of being told of it.
 */
export const turnsBetweenMax = 64;
export const betweenMsMax = 8;
export const waitedTurnsMax = 8;
/**
 * How long entries collect that nobody waits for: a commit for each wakeup was most of what a wakeup cost. A crash
 * within this time forgets that a 202 was answered.
 */
export const collectMsMax = 20;
/** Entries that collect: what puts more of them at once keeps a caller waiting. */
export const collectedMax = 32;
/** Open sessions that are closed between two waits for the store, when a crash left them open. */
export const closeSessionsSlice = 10_000;

/** Known wakeups forgotten between two waits for the store, and how often one looks for them. */
export const forgetWakeupsSlice = 500;
export const forgetWakeupsMs = 1000;

/** Of the newest events, kept in memory; one counts once more for so many characters of capabilities: about 8 MB. */
export const recentEventsMax = 2048;
export const recentEventCharacters = 256;
/** Events that came from other nodes, which followers are notified of in one turn of the loop. */
export const refreshLogSlice = 500;
/** Changes of the registry that are put into the log at once, and when that is tried again if a store refuses. */
export const noticesSlice = 500;
export const noticesRetryMs = 1000;
/** A store that takes nothing must not keep a server from stopping. */
export const noticesStopMsMax = 10_000;
/** Changes of the registry that wait for the log; beyond it the API changes no device and answers 50301. */
export const noticesWaitingMax = 100_000;

/** Share of a log that is forgotten for its age within a minute; more where the age is less than 200 minutes. */
export const forgottenShareMax = 0.01;

/** Events forgotten between two waits for the store, and how often one looks for them. */
export const forgetEventsSlice = 500;
export const forgetEventsMs = 1000;

/** Of what comes from other nodes, between two waits for the store: events, fewer than one look of a log tells, and entries. */
export const mirrorEventsSlice = 400;
export const mirrorEntriesSlice = 1000;
/** Entries of the registry that are checked, or noted, between two turns of the loop: about 2 ms of it. */
export const mirrorCheckSlice = 250;

/** How often the beginning of a moment of all files is tried, a turn of the loop each; one of them was committed meanwhile. */
export const momentTriesMax = 2000;
/** A backup is read and written in pieces of this size. */
export const backupPieceBytes = 1024 * 1024;
/** Rows of a backup that are put into a file between two turns of the loop. */
export const restoredRowsSlice = 5000;
/** Of a backup's own size, what the disk must have for the store that is made of it: pages have some room in them. */
export const restoredRoomFactor = 1.5;
/** How long the store of a backup is read through when it is verified: about 100 million rows. */
export const damageWalkOfBackupMsMax = 3_600_000;
