/** The logger of all clients. Without it the SDK writes to a file of the home folder, also after it has closed that. */
export const logger = { debug() {}, info() {}, warn: console.warn, error: console.error };
