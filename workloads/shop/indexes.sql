create index purchase_of_customer on purchase (customer_id);
