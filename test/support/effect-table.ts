/** Inserts into the table `effect` of the test database, which the handlers of tests write to. */
export const INSERT_EFFECT = 'insert into effect (receipt_id, type) values ($1, $2)'
