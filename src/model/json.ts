/** A JSON object as it came from outside: its keys are known, its values are not. */
export type JsonObject = { readonly [key: string]: unknown };
