/** The logger of all clients. Without it the SDK writes to a file in the home folder, even after it has closed that file. */
export const logger = { debug() {}, info() {}, warn: console.warn, error: console.error };
